//! What can be wrong with the bytes of a peer, and with what we would send it.

use std::fmt;

use super::message::Kind;
use super::{Text, Version, limits};

/// Why a peer's bytes were not taken. The connection is of no more use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The peer broke the protocol.
    Misbehaved(Misbehaviour),
    /// The peer speaks the protocol, but no version that is understood.
    Incompatible(Incompatibility),
}

/// A breach of the protocol and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misbehaviour {
    /// Where the word or frame at fault begins, in bytes from the start of what the peer sent.
    pub offset: u64,
    /// What is wrong.
    pub fault: Fault,
}

/// How a peer can break the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The first word is no version: something else than icecream answers there.
    NoGreeting {
        /// The word.
        found: [u8; 4],
    },
    /// The second word is another version than the one that follows from both first words.
    OtherVersion {
        /// The version that follows.
        agreed: Version,
        /// The word.
        found: u32,
    },
    /// A frame is announced that is longer than anybody takes.
    FrameTooLong {
        /// The length announced, in bytes.
        length: u32,
    },
    /// A frame is too short to say what it is.
    FrameTooShort {
        /// The length announced, in bytes.
        length: u32,
    },
    /// A message with a number that means nothing.
    UnknownMessage {
        /// The number.
        number: u32,
    },
    /// A message that the agreed version does not have.
    NotInVersion {
        /// The message.
        kind: Kind,
        /// The version.
        version: Version,
    },
    /// A frame ends before the message does.
    Truncated {
        /// The message.
        kind: Kind,
        /// The field that is not there as a whole.
        field: &'static str,
    },
    /// A frame goes on after the message.
    Surplus {
        /// The message.
        kind: Kind,
        /// How many bytes too many, and at least one.
        length: usize,
    },
    /// More entries are announced than the frame has room for.
    TooMany {
        /// The message.
        kind: Kind,
        /// The list.
        field: &'static str,
        /// The number announced.
        count: u32,
    },
    /// A string without the zero byte that ends it.
    Unterminated {
        /// The message.
        kind: Kind,
        /// The string.
        field: &'static str,
    },
    /// A number that means nothing where it stands, or is greater than what is taken.
    BadNumber {
        /// The message.
        kind: Kind,
        /// The field.
        field: &'static str,
        /// The number.
        number: u32,
    },
    /// A host that is no IPv4 address.
    BadAddress {
        /// The message.
        kind: Kind,
        /// What stands there.
        found: Text,
    },
}

/// A difference of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incompatibility {
    /// The peer's newest version is older than what is understood.
    TooOld {
        /// The peer's newest version.
        newest: u32,
    },
}

/// Why a message of ours cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// Its frame would be longer than a peer takes.
    TooLong {
        /// The message.
        kind: Kind,
        /// The frame's length in bytes.
        length: usize,
    },
    /// A chunk would stand for more bytes than a peer takes.
    ChunkTooLong {
        /// How many bytes.
        length: usize,
    },
    /// The agreed version does not have the message.
    NotInVersion {
        /// The message.
        kind: Kind,
        /// The version.
        version: Version,
    },
    /// The agreed version does not have the compression of a chunk.
    CompressionNotInVersion {
        /// The version.
        version: Version,
    },
}

impl std::error::Error for Error {}

impl std::error::Error for Unsendable {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misbehaved(misbehaviour) => misbehaviour.fmt(f),
            Self::Incompatible(incompatibility) => incompatibility.fmt(f),
        }
    }
}

impl fmt::Display for Misbehaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGreeting { found } => {
                write!(f, "\"{}\" is no greeting of an icecream program", found.escape_ascii())
            }
            Self::OtherVersion { agreed, found } => {
                write!(f, "protocol version {agreed} was agreed on, {found} was confirmed")
            }
            Self::FrameTooLong { length } => {
                write!(f, "a message of {length} bytes is announced, at most {} are taken", limits::MAX_FRAME_LEN)
            }
            Self::FrameTooShort { length } => write!(f, "a message of {length} bytes is too short to say what it is"),
            Self::UnknownMessage { number } => write!(f, "message number {number} is unknown"),
            Self::NotInVersion { kind, version } => write!(f, "protocol version {version} has no message {kind}"),
            Self::Truncated { kind, field } => write!(f, "{kind} ends before or within its {field}"),
            Self::Surplus { kind, length } => write!(f, "{kind} goes on for {length} bytes after its end"),
            Self::TooMany { kind, field, count } => {
                write!(f, "{kind} announces {count} {field}, more than it has room for")
            }
            Self::Unterminated { kind, field } => write!(f, "the {field} of {kind} lacks its final zero byte"),
            Self::BadNumber { kind, field, number } => write!(f, "{number} is no {field} for {kind}"),
            Self::BadAddress { kind, found } => {
                write!(f, "the host \"{}\" of {kind} is no IPv4 address", found.as_bytes().escape_ascii())
            }
        }
    }
}

impl fmt::Display for Incompatibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooOld { newest } => {
                write!(f, "the peer speaks protocol version {newest} at most, {} is the oldest known", Version::OLDEST)
            }
        }
    }
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { kind, length } => {
                write!(f, "{kind} would have {length} bytes, icecream takes at most {}", limits::MAX_FRAME_LEN)
            }
            Self::ChunkTooLong { length } => {
                write!(f, "a chunk would hold {length} bytes, icecream takes at most {}", limits::MAX_CHUNK_LEN)
            }
            Self::NotInVersion { kind, version } => write!(f, "protocol version {version} has no message {kind}"),
            Self::CompressionNotInVersion { version } => {
                write!(f, "protocol version {version} does not have the chunk's compression")
            }
        }
    }
}
