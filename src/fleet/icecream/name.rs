//! What a link calls itself and its machine in a cluster.

use std::hash::{BuildHasher, RandomState};

use rustix::system::uname;

/// The longest part of the machine's name that is used, in bytes: enough to recognise it by.
const MAX_HOSTNAME: usize = 48;

/// This machine's platform as icecream writes it: what `uname -m` says, on Linux.
pub fn platform() -> String {
    uname().machine().to_string_lossy().into_owned()
}

/// A node name for this link.
pub fn own_node_name() -> String {
    let hostname = uname().nodename().to_string_lossy().into_owned();
    // The standard library seeds every hasher anew, which is random enough for a name.
    node_name(std::process::id(), &hostname, RandomState::new().hash_one(std::process::id()))
}

/// The node name of the link of process `pid`. A scheduler takes two daemons with the same name and address for one and
/// drops the older, so the name is like no other on this machine, nor behind its address: containers share that, and
/// have the same process ids and sometimes the same hostname. The text port of the scheduler separates names by blanks.
pub fn node_name(pid: u32, hostname: &str, random: u64) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let hostname: String = hostname.chars().take(MAX_HOSTNAME).map(plain).collect();
    format!("thinbridge-{pid}-{hostname}-{:08x}", random & u64::from(u32::MAX))
}
