//! One connection that speaks icecream, for scripted peers. Through the product's codec: tests of its own prove that
//! against stock programs.

use std::io::{Read, Write};
use std::net::TcpStream;

use bytes::{Bytes, BytesMut};
use thinbridge_protocol::icecream::{Algorithm, Channel, FileReceiver, Message, Progress, Version, pack_file};

use super::scripted;

/// Largest file that a test takes.
const FILE_CAP: usize = 256 << 20;

/// A connection whose greeting is over. `None`, wherever it is answered, means that the other end has closed.
pub(crate) struct Icecream {
    stream: TcpStream,
    channel: Channel,
    input: BytesMut,
}

impl Icecream {
    /// Greets.
    pub(crate) fn greet(stream: TcpStream, own: Version) -> Option<Self> {
        let channel = Channel::new(own);
        let mut this = Self { stream, channel, input: BytesMut::new() };
        this.send_raw(&this.channel.greeting())?;
        loop {
            match this.next()? {
                Progress::Send(word) => this.send_raw(&word)?,
                _ => return Some(this),
            }
        }
    }

    /// The version that is spoken.
    pub(crate) fn version(&self) -> Version {
        self.channel.version().expect("the greeting is over")
    }

    /// A second handle, which only sends.
    pub(crate) fn sender(&self) -> Sender {
        Sender { stream: self.stream.try_clone().expect("a descriptor"), version: self.version() }
    }

    pub(crate) fn send(&self, message: &Message) -> Option<()> {
        send(&self.stream, self.version(), message)
    }

    /// Sends bytes that need not be a message.
    pub(crate) fn send_raw(&self, bytes: &[u8]) -> Option<()> {
        (&self.stream).write_all(bytes).ok()
    }

    pub(crate) fn receive(&mut self) -> Option<Message> {
        match self.next()? {
            Progress::Message(message) => Some(message),
            other => panic!("{other:?}"),
        }
    }

    /// Sends a content and the end of the file.
    pub(crate) fn send_file(&self, content: &[u8]) -> Option<()> {
        for frame in pack_file(content, Algorithm::of(self.version())) {
            self.send_raw(&frame)?;
        }
        self.send(&Message::End)
    }

    /// The content of a file whose chunks come next.
    pub(crate) fn receive_file(&mut self) -> Option<Bytes> {
        let mut file = FileReceiver::new(FILE_CAP);
        loop {
            match self.receive()? {
                Message::FileChunk(chunk) => file.add(&chunk).expect("a sound chunk"),
                Message::End => return Some(file.finish()),
                other => panic!("{other:?} in a file"),
            }
        }
    }

    /// Closes the connection, although others have handles of it.
    pub(crate) fn end(self) {
        scripted::end(self.stream);
    }

    /// Says nothing more until the other end closes.
    pub(crate) fn hold(self) {
        scripted::wait_for_client(self.stream);
    }

    /// What comes next, and is not [`Progress::Incomplete`].
    fn next(&mut self) -> Option<Progress> {
        let mut piece = vec![0; 64 << 10];
        loop {
            match self.channel.advance(&mut self.input).unwrap_or_else(|error| panic!("thinbridge misspoke: {error}")) {
                Progress::Incomplete => {}
                progress => return Some(progress),
            }
            match self.stream.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(length) => self.input.extend_from_slice(&piece[..length]),
            }
        }
    }
}

/// The sending half of a connection.
pub(crate) struct Sender {
    stream: TcpStream,
    version: Version,
}

impl Sender {
    pub(crate) fn send(&self, message: &Message) -> Option<()> {
        send(&self.stream, self.version, message)
    }
}

fn send(mut stream: &TcpStream, version: Version, message: &Message) -> Option<()> {
    let frame = message.encode(version).expect("the message can be sent");
    stream.write_all(&frame).ok()
}
