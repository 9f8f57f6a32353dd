//! Sending a request and receiving its answer, with a deadline on every wait.

use std::time::Duration;

use bytes::{Buf, BytesMut};
use thinbridge_protocol::distcc::{
    Encoded, Ending, Error, Progress, Response, ResponseDecoder, ResponseLimits, Version,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use crate::backend::outbox::Outbox;
use crate::backend::phases::Phases;
use crate::backend::transport::{Dialer, Transport};
use crate::backend::{Failure, Traffic};
use crate::fleet::Address;
use crate::schedule::Fault;
use crate::words;

/// The least room made for a read.
const READ_AHEAD: usize = 64 << 10;

/// How long ssh's own words may take to arrive once it closed the stream.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A request ready to be sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) version: Version,
    pub(super) bytes: Encoded,
}

/// Sends the request and waits for the answer. Nothing is sent after the request, and nothing is half-closed: distccd
/// takes that for a client that has gone.
pub(super) async fn exchange(
    dialer: &Dialer,
    address: &Address,
    compiler: &str,
    request: Outgoing,
    limits: ResponseLimits,
    deadline: Duration,
    traffic: &mut Traffic,
) -> Result<Response, Failure> {
    let turn = dialer.turn(address, deadline).await?;
    let started = Instant::now();
    let transport = dialer.connect(address, turn, started + deadline).await?;
    let mut talk = Talk {
        compiler,
        decoder: ResponseDecoder::new(request.version, limits),
        inbox: BytesMut::new(),
        outbox: request.bytes.into_chunks().into(),
        phases: Phases::new(started, started, deadline),
        lost: None,
    };
    talk.hold(transport, traffic).await
}

/// One connection's state.
struct Talk<'a> {
    compiler: &'a str,
    decoder: ResponseDecoder,
    inbox: BytesMut,
    outbox: Outbox,
    phases: Phases,
    /// The network failed, rather than the peer closing the connection.
    lost: Option<Failure>,
}

impl Talk<'_> {
    async fn hold(&mut self, mut transport: Transport, traffic: &mut Traffic) -> Result<Response, Failure> {
        let ending = self.talk(&mut transport, traffic).await?;
        match ending {
            Ending::Complete(response) => {
                transport.answered();
                self.phases.finished(traffic);
                Ok(response)
            }
            Ending::Silent => Err(self.refused(transport.last_words(LAST_WORDS).await)),
            Ending::Truncated { received, expected } => Err(self.lost.take().unwrap_or_else(|| {
                let place = format!("{received} bytes in, at {expected}");
                Failure::new(Fault::Refused, format!("the connection was closed in the middle of the answer, {place}"))
            })),
        }
    }

    /// Sends and receives until the answer is there or the connection has ended.
    async fn talk(&mut self, transport: &mut Transport, traffic: &mut Traffic) -> Result<Ending, Failure> {
        let (mut reader, mut writer) = tokio::io::split(transport);
        loop {
            self.inbox.reserve(READ_AHEAD);
            tokio::select! {
                biased;
                read = reader.read_buf(&mut self.inbox) => match read {
                    Ok(0) => break,
                    Ok(count) => {
                        self.phases.received(count, traffic);
                        match self.decoder.advance(&mut self.inbox) {
                            Ok(Progress::Incomplete) => {}
                            Ok(Progress::Done(response)) => return Ok(Ending::Complete(response)),
                            Err(error) => return Err(misbehaved(&error)),
                        }
                    }
                    Err(error) => {
                        self.broke(&error);
                        break;
                    }
                },
                written = writer.write_buf(&mut self.outbox), if self.outbox.has_remaining() => match written {
                    Ok(count) => self.phases.sent(count, !self.outbox.has_remaining(), traffic),
                    // The answer, or its absence, says more than the broken pipe: read on.
                    Err(error) => {
                        self.broke(&error);
                        self.outbox = Outbox::default();
                    }
                },
                () = sleep_until(self.phases.until()) => return Err(self.too_slow()),
            }
        }
        self.decoder.at_eof(&mut self.inbox).map_err(|error| misbehaved(&error))
    }

    /// Keeps an error that is the network's: the peer did not close this connection.
    fn broke(&mut self, error: &std::io::Error) {
        use std::io::ErrorKind::{HostUnreachable, NetworkDown, NetworkUnreachable, TimedOut};
        let fault = match error.kind() {
            TimedOut => Fault::Slow,
            HostUnreachable | NetworkDown | NetworkUnreachable => Fault::Unreachable,
            _ => return,
        };
        self.lost
            .get_or_insert_with(|| Failure::new(fault, format!("the connection was lost: {}", words::plain(error))));
    }

    fn too_slow(&self) -> Failure {
        let seconds = self.phases.allowed();
        Failure::new(
            Fault::Slow,
            match (self.phases.has_sent(), self.phases.has_answer()) {
                (false, false) => format!("it did not take the request within {seconds:.1} s"),
                (_, false) => format!("no answer within {seconds:.1} s"),
                (_, true) => format!("the answer was not complete within {seconds:.1} s"),
            },
        )
    }

    fn refused(&mut self, last_words: Option<String>) -> Failure {
        if let Some(last_words) = last_words {
            return Failure::new(Fault::Unreachable, format!("ssh: {}", last_words.escape_debug()));
        }
        self.lost.take().unwrap_or_else(|| {
            Failure::new(
                Fault::Refused,
                format!(
                    "the connection was closed without an answer: the host does not accept this client (--allow), does \
                     not allow the compiler {} (update-distcc-symlinks), or is going down",
                    self.compiler
                ),
            )
        })
    }
}

fn misbehaved(error: &Error) -> Failure {
    let fault = match error {
        Error::Misbehaved(_) => Fault::Misbehaved,
        Error::Incompatible(_) => Fault::Incompatible,
    };
    Failure::new(fault, format!("it does not keep to the distcc protocol: {error}"))
}
