//! The protocol's versions.

use std::fmt;

/// A protocol version that is understood here: 30 to 44.
///
/// Released programs speak 32 (1.0), 37 (1.1), 39 (1.2), 42 (1.3) and 43 (1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// The oldest version understood: the first in which a client may name the compiler's program.
    pub const OLDEST: Self = Self(30);
    /// The newest version understood. No release speaks it yet.
    pub const NEWEST: Self = Self(44);
    /// The version to offer: the one of the newest release, 1.4.
    pub const OURS: Self = Self(43);

    /// The version with this number, if it is understood.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(Self(number)).filter(|version| (Self::OLDEST..=Self::NEWEST).contains(version))
    }

    /// The version's number on the wire.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Whether this is version `number` or a later one: how the protocol's description says since when a field exists.
    pub(super) fn since(self, number: u32) -> bool {
        self.0 >= number
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
