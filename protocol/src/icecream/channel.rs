//! One connection as its receiving side sees it: the greeting, then frames.

use bytes::{Buf, BytesMut};

use super::error::{Error, Fault, Incompatibility, Misbehaviour};
use super::limits::{MAX_FRAME_LEN, MAX_GREETING, MIN_GREETING};
use super::{Message, Version};

/// Length of a word of the greeting, and of a frame's length.
const WORD: usize = 4;

/// Receives what a peer sends on one connection.
///
/// Both ends do the same: each sends its newest version as soon as the connection exists ([`Self::greeting`]),
/// confirms the lesser of both versions when it has seen the other's ([`Progress::Send`]), and may send messages as soon
/// as it has confirmed.
#[derive(Clone, Debug)]
pub struct Channel {
    own: Version,
    phase: Phase,
    /// Bytes taken off the input so far.
    taken: u64,
}

/// What comes next. `peer` is the peer's newest version.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Greeting,
    Confirmation { agreed: Version, peer: u32 },
    Messages { agreed: Version, peer: u32 },
}

/// What a [`Channel`] makes of the bytes so far.
#[allow(clippy::large_enum_variant)] // It is taken apart as soon as it is there; none are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    Incomplete,
    /// The version is known; these bytes have to be sent, and messages may follow them.
    Send([u8; 4]),
    /// The peer has confirmed the version; messages follow.
    Ready,
    /// A message.
    Message(Message),
}

impl Channel {
    /// A connection on which nothing has come yet. `own` is the newest version to speak.
    pub fn new(own: Version) -> Self {
        Self { own, phase: Phase::Greeting, taken: 0 }
    }

    /// What is to be sent at once.
    pub fn greeting(&self) -> [u8; 4] {
        self.own.number().to_le_bytes()
    }

    /// The version that messages have, as soon as it is known.
    pub fn version(&self) -> Option<Version> {
        match self.phase {
            Phase::Greeting => None,
            Phase::Confirmation { agreed, .. } | Phase::Messages { agreed, .. } => Some(agreed),
        }
    }

    /// The number of the newest version that the peer speaks, as soon as it is known. It may be one that is not
    /// understood here.
    pub fn peer_maximum(&self) -> Option<u32> {
        match self.phase {
            Phase::Greeting => None,
            Phase::Confirmation { peer, .. } | Phase::Messages { peer, .. } => Some(peer),
        }
    }

    /// Takes the next item off the front of `input`. To be called again until it answers [`Progress::Incomplete`].
    ///
    /// # Errors
    /// When the peer breaks the protocol or is too old. The connection is of no more use then.
    pub fn advance(&mut self, input: &mut BytesMut) -> Result<Progress, Error> {
        let advanced = match self.phase {
            Phase::Greeting => self.greeted(input),
            Phase::Confirmation { agreed, peer } => self.confirmed(input, agreed, peer),
            Phase::Messages { agreed, .. } => self.message(input, agreed),
        };
        Ok(advanced?.unwrap_or(Progress::Incomplete))
    }

    fn greeted(&mut self, input: &mut BytesMut) -> Result<Option<Progress>, Error> {
        let Some(word) = first_word(input) else { return Ok(None) };
        let peer = u32::from_le_bytes(word);
        if !(MIN_GREETING..=MAX_GREETING).contains(&peer) {
            return Err(self.fault(Fault::NoGreeting { found: word }));
        }
        let Some(agreed) = Version::from_number(peer.min(self.own.number())) else {
            return Err(Error::Incompatible(Incompatibility::TooOld { newest: peer }));
        };
        self.take(input, WORD);
        self.phase = Phase::Confirmation { agreed, peer };
        Ok(Some(Progress::Send(agreed.number().to_le_bytes())))
    }

    fn confirmed(&mut self, input: &mut BytesMut, agreed: Version, peer: u32) -> Result<Option<Progress>, Error> {
        let Some(word) = first_word(input) else { return Ok(None) };
        let found = u32::from_le_bytes(word);
        if found != agreed.number() {
            return Err(self.fault(Fault::OtherVersion { agreed, found }));
        }
        self.take(input, WORD);
        self.phase = Phase::Messages { agreed, peer };
        Ok(Some(Progress::Ready))
    }

    fn message(&mut self, input: &mut BytesMut, version: Version) -> Result<Option<Progress>, Error> {
        let Some(word) = first_word(input) else { return Ok(None) };
        let announced = u32::from_be_bytes(word);
        let length = match usize::try_from(announced) {
            Ok(length) if length <= MAX_FRAME_LEN => length,
            _ => return Err(self.fault(Fault::FrameTooLong { length: announced })),
        };
        if length < WORD {
            return Err(self.fault(Fault::FrameTooShort { length: announced }));
        }
        if input.len() < WORD + length {
            return Ok(None);
        }
        let mut frame = input.split_to(WORD + length).freeze();
        frame.advance(WORD);
        let message = Message::decode(version, frame).map_err(|fault| self.fault(fault))?;
        self.taken = self.taken.saturating_add((WORD + length) as u64);
        Ok(Some(Progress::Message(message)))
    }

    fn take(&mut self, input: &mut BytesMut, length: usize) {
        input.advance(length);
        self.taken = self.taken.saturating_add(length as u64);
    }

    /// An error at the word or frame that is being looked at.
    fn fault(&self, fault: Fault) -> Error {
        Error::Misbehaved(Misbehaviour { offset: self.taken, fault })
    }
}

fn first_word(input: &[u8]) -> Option<[u8; WORD]> {
    input.first_chunk().copied()
}
