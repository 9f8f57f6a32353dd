//! One connection on which icecream is spoken: messages out, messages in.

use std::fmt;
use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use thinbridge_protocol::icecream::{Channel, Error, Message, Progress, Unsendable, Version};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::{Instant, timeout_at};

use crate::backend::Failure;
use crate::backend::outbox::Outbox;
use crate::backend::patience::Patience;
use crate::schedule::Fault;
use crate::words::plain;

/// The least room made for a read.
const READ_AHEAD: usize = 64 << 10;

/// A connection. Dropped, it is closed.
#[derive(Debug)]
pub(super) struct Wire<S> {
    reader: ReadHalf<S>,
    writer: WriteHalf<S>,
    channel: Channel,
    inbox: BytesMut,
    outbox: Outbox,
    /// What writing ran into, to be told when nothing more is read either.
    deaf: Option<io::Error>,
}

/// What happened on a connection.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, for a moment")]
pub(super) enum Event {
    /// Bytes have come.
    Read(usize),
    /// Bytes have left.
    Wrote(usize),
    /// The greeting is over: the version is known, and the peer listens to messages.
    Ready,
    /// A message has come.
    Message(Message),
}

/// Why a connection is of no more use.
#[derive(Debug)]
pub(super) enum Broken {
    /// The peer closed it.
    Closed,
    /// The network lost it.
    Lost(io::Error),
    /// The peer does not keep to the protocol, or speaks no version that we do.
    Misspoke(Error),
    /// A message of another kind than the conversation has there.
    OutOfTurn(String),
    /// Nothing came, or nothing was taken, for so long.
    Silent(Duration),
    /// It asks and does not read the answers.
    Deaf,
    /// What we wanted to say cannot be said.
    Unsayable(Unsendable),
}

impl<S: AsyncRead + AsyncWrite> Wire<S> {
    /// A connection that has just been made. `own`: the newest version to speak.
    pub(super) fn new(stream: S, own: Version) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        let channel = Channel::new(own);
        let mut outbox = Outbox::default();
        outbox.push(Bytes::copy_from_slice(&channel.greeting()));
        Self { reader, writer, channel, inbox: BytesMut::new(), outbox, deaf: None }
    }

    /// The version spoken; before the greeting is over, the oldest.
    pub(super) fn version(&self) -> Version {
        self.channel.version().unwrap_or(Version::OLDEST)
    }

    /// Whether something has still to be written.
    pub(super) fn busy(&self) -> bool {
        self.outbox.has_remaining()
    }

    /// How many bytes have still to be written.
    pub(super) fn backlog(&self) -> usize {
        self.outbox.remaining()
    }

    /// Puts a message behind those that are to be written.
    pub(super) fn say(&mut self, message: &Message) -> Result<(), Broken> {
        let frame = message.encode(self.version()).map_err(Broken::Unsayable)?;
        self.outbox.push(frame);
        Ok(())
    }

    /// The same for messages that are encoded already.
    pub(super) fn send(&mut self, frames: impl IntoIterator<Item = Bytes>) {
        frames.into_iter().for_each(|frame| self.outbox.push(frame));
    }

    /// The next thing that happens. Nothing is lost when the future is dropped.
    pub(super) async fn event(&mut self) -> Result<Event, Broken> {
        // A peer that talks without end must not keep everything else from running.
        tokio::task::coop::consume_budget().await;
        loop {
            match self.channel.advance(&mut self.inbox).map_err(Broken::Misspoke)? {
                Progress::Incomplete => break,
                Progress::Send(word) => self.outbox.push(Bytes::copy_from_slice(&word)),
                Progress::Ready => return Ok(Event::Ready),
                Progress::Message(message) => return Ok(Event::Message(message)),
            }
        }
        self.inbox.reserve(READ_AHEAD);
        loop {
            tokio::select! {
                biased;
                read = self.reader.read_buf(&mut self.inbox) => return match read {
                    Ok(0) => Err(self.deaf.take().map_or(Broken::Closed, Broken::from)),
                    Ok(count) => Ok(Event::Read(count)),
                    Err(error) => Err(error.into()),
                },
                written = self.writer.write_buf(&mut self.outbox), if self.outbox.has_remaining() => match written {
                    Ok(count) => return Ok(Event::Wrote(count)),
                    // What the peer said before it closed, or that it said nothing, tells more: read on.
                    Err(error) => {
                        self.deaf.get_or_insert(error);
                        self.outbox = Outbox::default();
                    }
                },
            }
        }
    }

    /// Waits for the end of the greeting, as the peer sees it, too.
    pub(super) async fn greeted(&mut self, by: Instant) -> Result<(), Broken> {
        let started = Instant::now();
        let greeting = async {
            let mut ready = false;
            while !ready || self.busy() {
                ready |= matches!(self.event().await?, Event::Ready);
            }
            Ok(())
        };
        timeout_at(by, greeting).await.unwrap_or_else(|_| Err(Broken::Silent(by - started)))
    }

    /// The next message.
    pub(super) async fn message(&mut self, patience: &mut Patience) -> Result<Message, Broken> {
        loop {
            if let Event::Message(message) = self.event_within(patience).await? {
                return Ok(message);
            }
        }
    }

    /// Writes what there is to write. A message that comes meanwhile is given back: nothing is asked, so nothing but a
    /// complaint can come.
    pub(super) async fn flush(&mut self, patience: &mut Patience) -> Result<Option<Message>, Broken> {
        while self.busy() {
            if let Event::Message(message) = self.event_within(patience).await? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// The next thing that happens while the patience lasts. Bytes on the move put its end off.
    async fn event_within(&mut self, patience: &mut Patience) -> Result<Event, Broken> {
        let was_over = Instant::now() >= patience.until();
        let event = timeout_at(patience.until(), self.event()).await;
        let event = event.unwrap_or_else(|_| Err(Broken::Silent(patience.allowed())))?;
        match event {
            // A peer that never stops talking never lets the timer have its turn.
            Event::Read(_) if was_over => return Err(Broken::Silent(patience.allowed())),
            Event::Read(count) | Event::Wrote(count) => patience.moved(count, Instant::now()),
            Event::Message(_) | Event::Ready => {}
        }
        Ok(event)
    }

    /// Writes what there is to write and waits until the peer has closed the connection. For a good end.
    pub(super) async fn part(mut self, within: Duration) {
        let parting = async { while self.event().await.is_ok() {} };
        // Whoever does not close is left behind.
        let _ = tokio::time::timeout(within, parting).await;
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        match error.kind() {
            BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => Self::Closed,
            _ => Self::Lost(error),
        }
    }
}

impl Broken {
    /// Whose fault it is that a compile server brought nothing.
    pub(super) fn failure(&self) -> Failure {
        let fault = match self {
            Self::Closed => Fault::Refused,
            Self::Lost(_) => Fault::Unreachable,
            Self::Misspoke(Error::Incompatible(_)) => Fault::Incompatible,
            Self::Misspoke(Error::Misbehaved(_)) | Self::OutOfTurn(_) => Fault::Misbehaved,
            Self::Silent(_) | Self::Deaf => Fault::Slow,
            Self::Unsayable(_) => Fault::Local,
        };
        Failure::new(fault, self.to_string())
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection was closed"),
            Self::Lost(error) => write!(f, "the connection was lost: {}", plain(error)),
            Self::Misspoke(error) => write!(f, "it does not keep to the icecream protocol: {error}"),
            Self::OutOfTurn(what) => write!(f, "it does not keep to the icecream protocol: {what}"),
            Self::Silent(time) => write!(f, "nothing moved within {:.1} s", time.as_secs_f64()),
            Self::Deaf => f.write_str("it does not read what it is told"),
            Self::Unsayable(reason) => reason.fmt(f),
        }
    }
}
