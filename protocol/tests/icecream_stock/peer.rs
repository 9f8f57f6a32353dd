//! One connection that speaks icecream, as a test wants it: it waits, and panics when the other end errs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use thinbridge_protocol::icecream::{Algorithm, Channel, FileReceiver, Message, Progress, Version, pack_file};

/// Longest wait for the other end, so that a fault fails the test instead of stopping it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Longest file taken.
const FILE_CAP: usize = 64 << 20;

pub(crate) struct Peer {
    stream: TcpStream,
    channel: Channel,
    input: BytesMut,
}

impl Peer {
    /// Connects and greets.
    pub(crate) fn connect(address: SocketAddr, own: Version) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        Self::greet(stream, own).expect("a greeting in answer")
    }

    /// Greets on a new connection. `None` when it ends before the greeting does: schedulers look so whether anybody
    /// listens.
    pub(crate) fn greet(stream: TcpStream, own: Version) -> Option<Self> {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let channel = Channel::new(own);
        let mut peer = Self { stream, channel, input: BytesMut::new() };
        peer.stream.write_all(&peer.channel.greeting()).ok()?;
        loop {
            match peer.next()? {
                Progress::Send(word) => peer.stream.write_all(&word).unwrap(),
                Progress::Ready => return Some(peer),
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn version(&self) -> Version {
        self.channel.version().unwrap()
    }

    /// A handle that sends only.
    pub(crate) fn sender(&self) -> Sender {
        Sender { stream: self.stream.try_clone().unwrap(), version: self.version() }
    }

    pub(crate) fn send(&self, message: &Message) {
        self.sender().send(message);
    }

    /// The next message; `None` when the other end has closed.
    pub(crate) fn receive(&mut self) -> Option<Message> {
        match self.next()? {
            Progress::Message(message) => Some(message),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn expect(&mut self) -> Message {
        self.receive().expect("a message, but the connection ended")
    }

    pub(crate) fn send_file(&self, content: &[u8]) {
        for frame in pack_file(content, Algorithm::of(self.version())) {
            (&self.stream).write_all(&frame).unwrap();
        }
        self.send(&Message::End);
    }

    pub(crate) fn receive_file(&mut self) -> Bytes {
        let mut receiver = FileReceiver::new(FILE_CAP);
        loop {
            match self.expect() {
                Message::FileChunk(chunk) => receiver.add(&chunk).unwrap(),
                Message::End => return receiver.finish(),
                other => panic!("{other:?}"),
            }
        }
    }

    /// What comes next, and is not [`Progress::Incomplete`].
    fn next(&mut self) -> Option<Progress> {
        let mut piece = vec![0; 64 << 10];
        loop {
            match self.channel.advance(&mut self.input).unwrap() {
                Progress::Incomplete => {}
                progress => return Some(progress),
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(length) => self.input.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("the other end does not answer: {error}"),
            }
        }
    }
}

pub(crate) struct Sender {
    stream: TcpStream,
    version: Version,
}

impl Sender {
    pub(crate) fn send(&self, message: &Message) {
        (&self.stream).write_all(&message.encode(self.version).unwrap()).unwrap();
    }
}
