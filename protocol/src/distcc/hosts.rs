//! The host list: what `DISTCC_HOSTS` and the `hosts` files contain.
//!
//! ```text
//! TOKEN    = "--randomize" | "--localslots" SEP INT | "--localslots_cpp" SEP INT | "+zeroconf"
//!          | "localhost" [ "/" INT ] OPTS
//!          | [USER] "@" HOST [LIMIT] [":" COMMAND] OPTS
//!          | HOST [":" PORT] [LIMIT] OPTS  |  HOST LIMIT ":" PORT OPTS
//! HOST     = name | IPv4 | "[" IPv6 [ "%" zone ] "]"
//! LIMIT    = ("/" | "=") INT
//! SEP      = "=" | "/"
//! OPTS     = { "," ( "lzo" | "cpp" | "down" | "auth" [ "=" NAME ] ) }
//! ```
//!
//! Tokens are separated by white space; `#` begins a comment, also right after a token. The stock client passes over
//! much that it does not understand (`host/4x`, `--unknown`, `host,lzo:33`); here that is an error, as it never does what
//! its writer meant.

mod error;
mod parse;
#[cfg(test)]
mod tests;

pub use error::{HostListError, Reason};
pub use parse::parse;

use std::fmt;
use std::net::Ipv6Addr;

/// The port of a TCP host that names none.
pub const DEFAULT_PORT: u16 = 3632;

/// Slots of a remote host without a limit, as in the stock client.
pub const DEFAULT_SLOTS: u32 = 4;

/// Slots of `localhost` without a limit, as in the stock client.
pub const DEFAULT_LOCALHOST_SLOTS: u32 = 2;

/// The greatest limit taken. No machine runs as many compilers; a larger number is a slip, such as a port in its place
/// twice.
pub const MAX_SLOTS: u32 = 65_535;

/// A whole host list, in the order in which it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostList {
    /// The remote hosts. Hosts that are named twice are there twice.
    pub hosts: Vec<HostSpec>,
    /// `--randomize`: the order of the hosts means nothing.
    pub randomize: bool,
    /// `--localslots`: jobs run locally at once because they cannot be distributed.
    pub localslots: Option<u32>,
    /// `--localslots_cpp`: preprocessors run locally at once.
    pub localslots_cpp: Option<u32>,
    /// `+zeroconf`: hosts are to be found on the local network too.
    pub zeroconf: bool,
    /// `localhost` or `localhost/N`: jobs may run here as on a host. The last one counts.
    pub localhost: Option<Localhost>,
}

/// The local machine as a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Localhost {
    /// The limit, where one is written.
    pub limit: Option<u32>,
}

impl Localhost {
    /// Jobs at once: the limit, or [`DEFAULT_LOCALHOST_SLOTS`].
    pub fn slots(self) -> u32 {
        self.limit.unwrap_or(DEFAULT_LOCALHOST_SLOTS)
    }
}

/// A remote host. Its [`Display`](fmt::Display) form is canonical: `host:port`, `[v6]:port`, `user@host` or `@host`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSpec {
    /// How to get there.
    pub transport: Transport,
    /// The limit, where one is written: 1 to [`MAX_SLOTS`].
    pub limit: Option<u32>,
    /// The options after the host.
    pub flags: Flags,
    /// The token as it was written.
    pub text: String,
}

impl HostSpec {
    /// Jobs at once: the limit, or [`DEFAULT_SLOTS`].
    pub fn slots(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_SLOTS)
    }
}

/// The options of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `,lzo`: compress.
    pub lzo: bool,
    /// `,cpp`: let the host preprocess.
    pub cpp: bool,
    /// `,down`: do not use the host for now.
    pub down: bool,
    /// `,auth` or `,auth=NAME`: authenticate by GSSAPI.
    pub auth: Option<Auth>,
}

/// How to get to a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// By a connection to a listening distccd.
    Tcp {
        /// The machine.
        address: Address,
        /// The port, never 0.
        port: u16,
    },
    /// By a distccd that ssh starts.
    Ssh {
        /// The user, where one is written. Neither it, the address nor the command begins with `-`: ssh would take
        /// that for an option.
        user: Option<String>,
        /// The machine.
        address: Address,
        /// The program to start there, where one is written.
        command: Option<String>,
    },
}

/// A machine's name or address. Its [`Display`](fmt::Display) form has no brackets: what a resolver or ssh takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A name, or an IPv4 address.
    Name(String),
    /// What stood in brackets.
    Ipv6 {
        /// The address.
        address: Ipv6Addr,
        /// The zone (an interface's name or number), which a link-local address needs.
        zone: Option<String>,
    },
}

/// The GSSAPI principal that a host must prove to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Auth {
    /// The one that follows from the host's name.
    Default,
    /// The one named.
    Named(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Ipv6 { address, zone: None } => address.fmt(f),
            Self::Ipv6 { address, zone: Some(zone) } => write!(f, "{address}%{zone}"),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { address: address @ Address::Ipv6 { .. }, port } => write!(f, "[{address}]:{port}"),
            Self::Tcp { address, port } => write!(f, "{address}:{port}"),
            Self::Ssh { user, address, .. } => write!(f, "{}@{address}", user.as_deref().unwrap_or_default()),
        }
    }
}

impl fmt::Display for HostSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.transport.fmt(f)
    }
}
