//! What can be wrong with the bytes of a peer, and with what we would send it.

use std::fmt;

use super::status::WaitStatus;
use super::token::Token;
use crate::lzo;

/// Why a peer's bytes were not taken. The connection is of no more use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The peer broke the protocol.
    Misbehaved(Misbehaviour),
    /// The peer speaks the protocol, but not the version that was needed.
    Incompatible(Incompatibility),
}

/// A breach of the protocol and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misbehaviour {
    /// Where the token at fault begins, in bytes from the start of what the peer sent.
    pub offset: u64,
    /// What is wrong.
    pub fault: Fault,
}

/// How a peer can break the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Another token than the one whose turn it is.
    WrongToken {
        /// The tokens that could have come.
        expected: Vec<Token>,
        /// The first bytes found instead, four at most.
        found: Vec<u8>,
    },
    /// The number in a header is not eight hexadecimal digits.
    NotANumber {
        /// The header's name.
        token: Token,
        /// What stands in place of the digits.
        found: Vec<u8>,
    },
    /// A body is announced that is longer than we take.
    TooLong {
        /// The header's name.
        token: Token,
        /// The length announced, in bytes.
        length: u32,
        /// The greatest length taken, in bytes.
        cap: usize,
    },
    /// More items are announced than we take.
    TooMany {
        /// `ARGC` or `NFIL`.
        token: Token,
        /// The number announced.
        count: u32,
        /// The greatest number taken.
        cap: usize,
    },
    /// The request as a whole is longer than we take.
    RequestTooLong {
        /// The greatest length taken, in bytes.
        cap: u64,
    },
    /// A body does not decompress, or to more than we take.
    BadBody {
        /// The body's token.
        token: Token,
        /// What the decompressor says.
        error: lzo::Error,
    },
    /// A string that cannot be an argument or a name.
    BadString {
        /// The string's token.
        token: Token,
        /// What is wrong with it.
        reason: BadString,
    },
    /// An object came although the compiler failed.
    ObjectDespiteFailure {
        /// How the compiler ended.
        status: WaitStatus,
        /// Length of the object on the wire, in bytes.
        length: u32,
    },
    /// Bytes came after the end.
    Surplus {
        /// How many were seen.
        length: usize,
    },
}

/// What a string on the wire must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadString {
    /// It contains a zero byte.
    ZeroByte,
    /// It does not start with `/`.
    NotAbsolute,
    /// It has `..` among its components, and so could leave the job's folder.
    ParentFolder,
    /// It ends with `/`, and so names no file.
    NotAFile,
    /// It is empty.
    Empty,
}

/// A difference of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incompatibility {
    /// The client asks for a version that does not exist.
    UnknownVersion {
        /// The version asked for.
        asked: u32,
    },
    /// The server answers in another version than it was asked in.
    OtherVersion {
        /// The version asked for.
        asked: u32,
        /// The version answered.
        answered: u32,
    },
}

/// Why a message of ours cannot be sent to a stock peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// A body or string is too long.
    TooLong {
        /// What it would be sent as.
        token: Token,
        /// Its length on the wire, in bytes.
        length: usize,
        /// The greatest length a peer takes, in bytes.
        cap: usize,
    },
    /// There are too many arguments or files.
    TooMany {
        /// `ARGC` or `NFIL`.
        token: Token,
        /// How many there are.
        count: usize,
        /// The greatest number a peer takes.
        cap: usize,
    },
    /// A string that cannot be an argument or a name.
    BadString {
        /// What it would be sent as.
        token: Token,
        /// What is wrong with it.
        reason: BadString,
    },
    /// A response that no client would understand: an object despite a failed compiler, or dependencies where the
    /// protocol has no place for them.
    Contradiction {
        /// The token that must not be sent.
        token: Token,
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
            Self::WrongToken { expected, found } => {
                f.write_str("expected ")?;
                for (index, token) in expected.iter().enumerate() {
                    let separator = if index == 0 { "" } else { " or " };
                    write!(f, "{separator}{token}")?;
                }
                write!(f, ", found \"{}\"", found.escape_ascii())
            }
            Self::NotANumber { token, found } => {
                write!(f, "{token} needs eight hexadecimal digits, found \"{}\"", found.escape_ascii())
            }
            Self::TooLong { token, length, cap } => {
                write!(f, "{token} announces {length} bytes, at most {cap} are taken")
            }
            Self::TooMany { token, count, cap } => {
                write!(f, "{token} announces {count} items, at most {cap} are taken")
            }
            Self::RequestTooLong { cap } => write!(f, "the request is longer than {cap} bytes"),
            Self::BadBody { token, error } => write!(f, "the body of {token} does not decompress: {error}"),
            Self::BadString { token, reason } => write!(f, "the string of {token} {reason}"),
            Self::ObjectDespiteFailure { status, length } => {
                write!(f, "an object of {length} bytes came although the compiler failed ({status})")
            }
            Self::Surplus { length } => write!(f, "{length} bytes came after the end"),
        }
    }
}

impl fmt::Display for BadString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroByte => "contains a zero byte",
            Self::NotAbsolute => "does not start with \"/\"",
            Self::ParentFolder => "contains the component \"..\"",
            Self::NotAFile => "ends with \"/\" and so names no file",
            Self::Empty => "is empty",
        })
    }
}

impl fmt::Display for Incompatibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion { asked } => write!(f, "protocol version {asked} was asked for, 3 is the last known"),
            Self::OtherVersion { asked, answered } => {
                write!(f, "protocol version {asked} was asked for, {answered} was answered")
            }
        }
    }
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { token, length, cap } => {
                write!(f, "{token} would have {length} bytes, distcc hosts take at most {cap}")
            }
            Self::TooMany { token, count, cap } => write!(f, "{token} would be {count}, at most {cap} can be sent"),
            Self::BadString { token, reason } => write!(f, "the string of {token} {reason}"),
            Self::Contradiction { token } => write!(f, "{token} has no place in this response"),
        }
    }
}
