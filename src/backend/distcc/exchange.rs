//! Sending a request and receiving its answer, with a deadline on every wait.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use thinbridge_protocol::distcc::{
    Encoded, Ending, Error, Progress, Response, ResponseDecoder, ResponseLimits, Version,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use crate::backend::transport::{Dialer, Transport, words};
use crate::backend::{Failure, Traffic};
use crate::fleet::Address;
use crate::schedule::Fault;

/// Bytes a second that extend a deadline while they move: a slow line is no silence, and a host that trickles bytes
/// does not hold a job for ever. About a fast modem line's share of 10 Mbit/s.
const MIN_RATE: u64 = 1 << 20;

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
    let started = Instant::now();
    let transport = dialer.connect(address).await?;
    let mut talk = Talk {
        compiler,
        decoder: ResponseDecoder::new(request.version, limits),
        inbox: BytesMut::new(),
        outbox: Chunks(request.bytes.into_chunks().into()),
        deadline,
        started,
        sent_at: None,
        answered_at: None,
    };
    talk.hold(transport, traffic).await
}

/// One connection's state.
struct Talk<'a> {
    compiler: &'a str,
    decoder: ResponseDecoder,
    inbox: BytesMut,
    outbox: Chunks,
    deadline: Duration,
    started: Instant,
    sent_at: Option<Instant>,
    answered_at: Option<Instant>,
}

impl Talk<'_> {
    async fn hold(&mut self, mut transport: Transport, traffic: &mut Traffic) -> Result<Response, Failure> {
        let (mut reader, mut writer) = tokio::io::split(&mut transport);
        let ended = loop {
            self.inbox.reserve(READ_AHEAD);
            let limit = self.limit(traffic);
            tokio::select! {
                biased;
                read = reader.read_buf(&mut self.inbox) => match read {
                    Ok(0) => break None,
                    Ok(count) => {
                        self.received(count, traffic);
                        match self.decoder.advance(&mut self.inbox) {
                            Ok(Progress::Incomplete) => {}
                            Ok(Progress::Done(response)) => return Ok(self.finish(response, traffic)),
                            Err(error) => return Err(misbehaved(&error)),
                        }
                    }
                    Err(error) => break Some(error),
                },
                written = writer.write_buf(&mut self.outbox), if self.outbox.has_remaining() => match written {
                    Ok(count) => {
                        traffic.sent = traffic.sent.saturating_add(count as u64);
                        if !self.outbox.has_remaining() {
                            self.sent_at = Some(Instant::now());
                            traffic.sending = self.started.elapsed();
                        }
                    }
                    // The answer, or its absence, says more than the broken pipe: read on.
                    Err(_) => self.outbox = Chunks::default(),
                },
                () = sleep_until(limit) => return Err(self.too_slow()),
            }
        };
        drop((reader, writer));
        match self.decoder.at_eof(&mut self.inbox) {
            Err(error) => Err(misbehaved(&error)),
            Ok(Ending::Complete(response)) => Ok(self.finish(response, traffic)),
            Ok(Ending::Silent) => Err(self.refused(ended.as_ref(), transport.last_words(LAST_WORDS).await)),
            Ok(Ending::Truncated { received, expected }) => Err(Failure::new(
                Fault::Refused,
                format!("the connection was closed in the middle of the answer, {received} bytes in, at {expected}"),
            )),
        }
    }

    /// When to give up: the deadline, counted anew once the request has left, and longer while bytes move.
    fn limit(&self, traffic: &Traffic) -> Instant {
        let (since, moved) = match self.sent_at {
            None => (self.started, traffic.sent),
            Some(sent) => (sent, traffic.received),
        };
        since + self.deadline + Duration::from_secs(moved / MIN_RATE)
    }

    fn received(&mut self, count: usize, traffic: &mut Traffic) {
        traffic.received = traffic.received.saturating_add(count as u64);
        if self.answered_at.is_none() {
            self.answered_at = Some(Instant::now());
            traffic.waiting = self.sent_at.unwrap_or(self.started).elapsed();
        }
    }

    fn finish(&self, response: Response, traffic: &mut Traffic) -> Response {
        traffic.receiving = self.answered_at.map_or(Duration::ZERO, |at| at.elapsed());
        response
    }

    fn too_slow(&self) -> Failure {
        let seconds = self.deadline.as_secs_f64();
        Failure::new(
            Fault::Slow,
            match (self.sent_at, self.answered_at) {
                (None, None) => format!("it did not take the request within {seconds:.1} s"),
                (_, None) => format!("no answer within {seconds:.1} s"),
                (_, Some(_)) => format!("the answer was not complete within {seconds:.1} s"),
            },
        )
    }

    fn refused(&self, ended: Option<&std::io::Error>, last_words: Option<String>) -> Failure {
        if let Some(last_words) = last_words {
            return Failure::new(Fault::Unreachable, format!("ssh: {}", last_words.escape_debug()));
        }
        let how = ended.map_or_else(|| "closed".to_owned(), |error| format!("broken ({})", words(error)));
        Failure::new(
            Fault::Refused,
            format!(
                "the connection was {how} without an answer: the host does not accept this client (--allow), does not \
                 allow the compiler {} (update-distcc-symlinks), or is going down",
                self.compiler
            ),
        )
    }
}

fn misbehaved(error: &Error) -> Failure {
    let fault = match error {
        Error::Misbehaved(_) => Fault::Misbehaved,
        Error::Incompatible(_) => Fault::Incompatible,
    };
    Failure::new(fault, format!("it does not keep to the distcc protocol: {error}"))
}

/// What is left of a request.
#[derive(Default)]
struct Chunks(VecDeque<Bytes>);

impl Buf for Chunks {
    fn remaining(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn has_remaining(&self) -> bool {
        !self.0.is_empty()
    }

    fn chunk(&self) -> &[u8] {
        self.0.front().map_or(&[], |chunk| chunk)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let filled = slices.iter_mut().zip(&self.0).map(|(slice, chunk)| *slice = IoSlice::new(chunk));
        filled.count()
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(first) = self.0.front_mut() {
            let taken = count.min(first.len());
            first.advance(taken);
            count -= taken;
            if !first.is_empty() {
                return;
            }
            self.0.pop_front();
        }
    }
}
