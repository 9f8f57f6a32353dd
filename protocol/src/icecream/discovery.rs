//! How a scheduler is found: a datagram of one byte by broadcast, and a datagram from every scheduler that hears it.
//!
//! Who asks collects answers for some time (stock programs: three seconds), takes the best of those that have its netname
//! ([`Reply::is_better_than`]) and connects by TCP to the address and port from which that one came.

use std::cmp::Reverse;
use std::fmt;

use bytes::{Buf, BufMut};

use super::{Text, Version, limits};

/// The port on which schedulers listen, by UDP and by TCP.
pub const PORT: u16 = 8765;

/// The netname of who has not set any.
pub const DEFAULT_NETNAME: &str = "ICECREAM";

/// Length of a reply of protocol version 36 and later. A buffer of this length takes every datagram that matters.
pub const REPLY_LEN: usize = 268;

/// Length of a reply to version 33 to 35.
const MIDDLE_REPLY_LEN: usize = 32;

/// Length of a reply to earlier versions.
const SHORT_REPLY_LEN: usize = 16;

/// How announcements begin, which schedulers send to each other.
const ANNOUNCEMENTS: [&[u8]; 2] = [b"ICE", b"ICF"];

/// The datagram that asks.
pub fn request(version: Version) -> [u8; 1] {
    // A version is one of few small numbers.
    [version.number() as u8]
}

/// What a scheduler says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its newest protocol version; 0 if it does not say, which those before version 33 do not.
    pub version: u32,
    /// When it was started, in seconds since 1970; 0 if it does not say.
    pub started: u64,
    /// The name of its cluster.
    pub netname: Text,
}

impl Reply {
    /// Whether it is of the cluster called `netname`: case does not matter.
    pub fn is_of(&self, netname: &Text) -> bool {
        self.netname.as_bytes().eq_ignore_ascii_case(netname.as_bytes())
    }

    /// Whether everybody prefers this scheduler to `other`: it speaks a newer version, or the same and is older itself.
    pub fn is_better_than(&self, other: &Self) -> bool {
        let rank = |reply: &Self| (reply.version, Reverse(reply.started));
        rank(self) > rank(other)
    }

    /// The datagram that answers a request of the byte `asked`. `None` for a version before 38, whose replies have other
    /// forms.
    pub fn encode(&self, asked: u8) -> Option<Vec<u8>> {
        let first = asked.checked_add(BE_OFFSET).filter(|_| asked >= 38)?;
        let mut datagram = Vec::with_capacity(REPLY_LEN);
        datagram.put_u8(first);
        datagram.put_u32(self.version);
        datagram.put_u64(self.started);
        datagram.extend(self.netname.as_bytes().iter().take(limits::MAX_NETNAME_LEN));
        datagram.resize(REPLY_LEN, 0);
        Some(datagram)
    }
}

/// What the first byte of a reply is above the request's: the name only, numbers in the scheduler's order, and numbers in
/// network order.
const SHORT_OFFSET: u8 = 1;
const HOST_OFFSET: u8 = 2;
const BE_OFFSET: u8 = 3;

/// Why a datagram is no reply. Some other program or an old scheduler sent it, and it is to be passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAReply {
    /// Schedulers announce themselves to each other.
    Announcement,
    /// It begins or ends as no reply does.
    Unknown {
        /// Its length in bytes.
        length: usize,
    },
}

impl std::error::Error for NotAReply {}

impl fmt::Display for NotAReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Announcement => f.write_str("a scheduler announces itself to other schedulers"),
            Self::Unknown { length } => write!(f, "a datagram of {length} bytes is no answer of a scheduler"),
        }
    }
}

/// Reads the answer to a request of `version`.
///
/// A scheduler that does not know that version answers in the form of its own; which form it is shows in the first byte
/// and the length.
///
/// # Errors
/// When it is no answer.
pub fn parse_reply(datagram: &[u8], version: Version) -> Result<Reply, NotAReply> {
    if ANNOUNCEMENTS.iter().any(|start| datagram.starts_with(start)) {
        return Err(NotAReply::Announcement);
    }
    let [asked] = request(version);
    let unknown = NotAReply::Unknown { length: datagram.len() };
    let (&first, fields) = datagram.split_first().ok_or(unknown)?;
    let reply = match (first.checked_sub(asked), datagram.len()) {
        (Some(SHORT_OFFSET), SHORT_REPLY_LEN) => Some(Reply { version: 0, started: 0, netname: Text::new(fields) }),
        (Some(HOST_OFFSET), MIDDLE_REPLY_LEN | REPLY_LEN) => in_host_order(fields),
        (Some(BE_OFFSET), REPLY_LEN) => in_network_order(fields),
        _ => None,
    };
    reply.ok_or(unknown)
}

fn in_network_order(mut fields: &[u8]) -> Option<Reply> {
    let version = fields.try_get_u32().ok()?;
    let started = fields.try_get_u64().ok()?;
    Some(Reply { version, started, netname: Text::new(fields) })
}

/// The order shows in the version: it is a small number in one of them only.
fn in_host_order(mut fields: &[u8]) -> Option<Reply> {
    if let Some(reply) = in_network_order(fields).filter(|reply| reply.version <= limits::MAX_GREETING) {
        return Some(reply);
    }
    let version = fields.try_get_u32_le().ok()?;
    let started = fields.try_get_u64_le().ok()?;
    Some(Reply { version, started, netname: Text::new(fields) })
}
