//! What can be wrong with a host list.

use std::fmt;

use super::MAX_SLOTS;

/// A token that cannot be understood, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostListError {
    /// The token as it was written.
    pub token: String,
    /// Its line, from 1.
    pub line: usize,
    /// The column of its first character, from 1, in characters.
    pub column: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What can be wrong with a token. The words of each say how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A word with `--` that is no option.
    UnknownOption,
    /// An option without its number, or with something that is none.
    BadOptionNumber {
        /// The option's name.
        option: &'static str,
    },
    /// `--randomize` with something after it.
    OptionTakesNoValue,
    /// A word with `+` other than `+zeroconf`.
    UnknownSource,
    /// No host where one is needed.
    NoHost,
    /// A host, user or command that begins with `-`.
    LeadingDash {
        /// Which of them.
        part: &'static str,
    },
    /// A character that no host name has.
    BadCharacter {
        /// The character.
        character: char,
        /// Where it stands: `host`, `user`, `zone` or `command`.
        part: &'static str,
    },
    /// An IPv6 address without brackets.
    BareIpv6,
    /// `[` without `]`.
    UnclosedBracket,
    /// What is in brackets is no IPv6 address.
    BadIpv6 {
        /// What is there.
        found: String,
    },
    /// `%` without a zone after it.
    EmptyZone,
    /// Something else than a port, a limit or options after the host.
    BadSuffix {
        /// What is there.
        found: String,
    },
    /// A port that is no number from 1 to 65535.
    BadPort {
        /// What is there.
        found: String,
    },
    /// A second port.
    SecondPort,
    /// A limit that is no number from 1 to [`MAX_SLOTS`].
    BadLimit {
        /// What is there.
        found: String,
    },
    /// A second limit.
    SecondLimit,
    /// `:` without a command after it.
    EmptyCommand,
    /// An option of a host that does not exist.
    UnknownHostOption {
        /// What is there.
        found: String,
    },
    /// `,auth=` without a name.
    EmptyAuthName,
    /// `,cpp` without `,lzo`.
    CppWithoutLzo,
}

impl std::error::Error for HostListError {}

impl fmt::Display for HostListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, line, column, reason } = self;
        write!(f, "host list, line {line}, column {column}, {token:?}: {reason}")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownOption => {
                f.write_str("unknown option; there are --randomize, --localslots=N and --localslots_cpp=N")
            }
            Self::BadOptionNumber { option } => {
                write!(f, "needs a number from 1 to {MAX_SLOTS}, without a space before it: {option}=N")
            }
            Self::OptionTakesNoValue => f.write_str("takes no value: write --randomize"),
            Self::UnknownSource => f.write_str("the only word with a plus sign is +zeroconf"),
            Self::NoHost => f.write_str("expected a host name or address"),
            Self::LeadingDash { part } => write!(f, "a {part} must not begin with \"-\""),
            Self::BadCharacter { character, part } => {
                write!(f, "a {part} cannot contain {character:?}; separate hosts by spaces")
            }
            Self::BareIpv6 => f.write_str("an IPv6 address needs brackets, as in [::1]:3632"),
            Self::UnclosedBracket => f.write_str("the bracket is not closed: expected \"]\" after the IPv6 address"),
            Self::BadIpv6 { found } => write!(f, "expected an IPv6 address in the brackets, found {found:?}"),
            Self::EmptyZone => f.write_str("expected an interface after \"%\", as in [fe80::1%eth0]"),
            Self::BadSuffix { found } => {
                write!(f, "expected :PORT, /LIMIT or ,OPTION after the host, found {found:?}")
            }
            Self::BadPort { found } => write!(f, "expected a port from 1 to 65535 after \":\", found {found:?}"),
            Self::SecondPort => f.write_str("there is a second port; separate hosts by spaces"),
            Self::BadLimit { found } => {
                write!(f, "expected a number of jobs from 1 to {MAX_SLOTS} after \"/\", found {found:?}")
            }
            Self::SecondLimit => f.write_str("there is a second limit; separate hosts by spaces"),
            Self::EmptyCommand => {
                f.write_str("expected a command after \":\"; for the usual distccd leave the \":\" out")
            }
            Self::UnknownHostOption { found } => {
                write!(f, "unknown option {found:?}; there are lzo, cpp, down and auth[=NAME], after the limit")
            }
            Self::EmptyAuthName => f.write_str("expected a principal's name after \"auth=\"; or write only \",auth\""),
            Self::CppWithoutLzo => f.write_str("the option cpp needs the option lzo: write ,lzo,cpp"),
        }
    }
}
