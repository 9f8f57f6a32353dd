//! The protocol's versions.

use std::fmt;

/// A protocol version. Every distccd since 3.0 speaks all of them, the client chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// What servers treat like [`Self::V1`] except that they answer with 0. No client is known to ask for it.
    V0 = 0,
    /// The client preprocesses, bodies are raw.
    V1 = 1,
    /// The client preprocesses, bodies are LZO1X.
    V2 = 2,
    /// The server preprocesses the files it is sent, bodies are LZO1X ("pump mode").
    V3 = 3,
}

impl Version {
    /// The version with this number on the wire.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::V0, Self::V1, Self::V2, Self::V3].into_iter().find(|version| version.number() == number)
    }

    /// The version's number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Whether bulk bodies (`DOTI FILE SERR SOUT DOTO DOTD`) are LZO1X blocks.
    pub fn compresses(self) -> bool {
        self >= Self::V2
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}
