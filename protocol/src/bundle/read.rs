//! The receiving end: the entry program reads the prelude, then as many bytes as that says, then the contents.

use std::fmt;

use super::check::{Flaw, check};
use super::{FileFact, MAGIC, MAX_ARGUMENT_LEN, MAX_ARGUMENTS, MAX_FILES, MAX_NAME_LEN, VERSION};

/// Length of the head's part of fixed length, in bytes.
pub const PRELUDE_LEN: usize = 12;

/// Longest body of a head in bytes: the most files with names of usual length, which a receiver can well hold in memory.
pub const MAX_HEAD_LEN: usize = 16 * 1024 * 1024;

/// The head of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The compiler's arguments, without the program's name and without an output.
    pub arguments: Vec<Vec<u8>>,
    /// The files, in the order of their contents.
    pub files: Vec<FileFact>,
}

/// Why a head was not taken: the fault of the sender, or of the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It does not start as a bundle does.
    NotABundle,
    /// It is a bundle of a version that is not known.
    UnknownVersion {
        /// The version.
        version: u8,
    },
    /// It ends within an item, or an item is longer than what is left.
    Truncated,
    /// An item is announced that is longer than we take, or more items.
    TooLarge {
        /// What is announced.
        item: &'static str,
        /// The length or number announced.
        announced: u32,
        /// The greatest one taken.
        cap: usize,
    },
    /// Bytes are left after the last item.
    Surplus {
        /// How many.
        length: usize,
    },
    /// It is complete, but not usable.
    Unusable(Flaw),
}

impl std::error::Error for Malformed {}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABundle => f.write_str("standard input is not a bundle"),
            Self::UnknownVersion { version } => write!(f, "bundle version {version}, only {VERSION} is known"),
            Self::Truncated => f.write_str("the head of the bundle ends too early"),
            Self::TooLarge { item, announced, cap } => {
                write!(f, "the bundle announces {item} {announced}, at most {cap} is taken")
            }
            Self::Surplus { length } => write!(f, "{length} bytes are left after the head of the bundle"),
            Self::Unusable(flaw) => write!(f, "bad bundle: {flaw}"),
        }
    }
}

/// How many bytes of head follow the prelude.
///
/// # Errors
/// It is no bundle, one of an unknown version, or one with a head that is too long.
pub fn head_length(prelude: &[u8; PRELUDE_LEN]) -> Result<usize, Malformed> {
    let mut reader = Reader { rest: prelude };
    if reader.array()? != MAGIC {
        return Err(Malformed::NotABundle);
    }
    let [version] = reader.array()?;
    if version != VERSION {
        return Err(Malformed::UnknownVersion { version });
    }
    reader.number("a head of length", MAX_HEAD_LEN)
}

impl Head {
    /// Parses what follows the prelude, of the length that [`head_length`] gave.
    ///
    /// # Errors
    /// See [`Malformed`].
    pub fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader { rest: body };
        let count = reader.number("a number of arguments of", MAX_ARGUMENTS)?;
        // Nothing is allocated for a number: each item must be there first.
        let mut arguments = Vec::new();
        for _ in 0..count {
            arguments.push(reader.bytes("an argument of length", MAX_ARGUMENT_LEN)?.to_vec());
        }
        let count = reader.number("a number of files of", MAX_FILES)?;
        let mut files = Vec::new();
        for _ in 0..count {
            let name = reader.bytes("a file name of length", MAX_NAME_LEN)?.to_vec();
            let size = u64::from_be_bytes(reader.array()?);
            files.push(FileFact { name, size, digest: reader.array()? });
        }
        if !reader.rest.is_empty() {
            return Err(Malformed::Surplus { length: reader.rest.len() });
        }
        check(&arguments, &files).map_err(Malformed::Unusable)?;
        Ok(Self { arguments, files })
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn number(&mut self, item: &'static str, cap: usize) -> Result<usize, Malformed> {
        let announced = u32::from_be_bytes(self.array()?);
        let number = usize::try_from(announced).ok().filter(|number| *number <= cap);
        number.ok_or(Malformed::TooLarge { item, announced, cap })
    }

    fn bytes(&mut self, item: &'static str, cap: usize) -> Result<&'a [u8], Malformed> {
        let length = self.number(item, cap)?;
        self.take(length)
    }
}
