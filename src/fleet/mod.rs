//! The hosts of a link: which there are, where the list came from, and why one is left out.

mod hosts;
pub mod icecream;
mod identity;

pub use hosts::{LeftOut, fleet, unknown_hosts};
pub use identity::{Identity, same_compiler};

/// Where a volunteer is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A `distccd` on TCP.
    Tcp {
        /// Name or address, without brackets, with the zone of a link-local one.
        host: String,
        /// Port.
        port: u16,
    },
    /// A `distccd --inetd` that ssh starts.
    Ssh(SshAddress),
}

/// Where ssh connects and what it starts there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshAddress {
    /// The login name, when the list gives one.
    pub user: Option<String>,
    /// The host as ssh understands it.
    pub host: String,
    /// The `distccd` to start.
    pub command: String,
}

/// A host that takes backend jobs.
#[derive(Clone, Debug)]
pub struct Volunteer {
    /// Its name in messages and reports.
    pub name: String,
    /// Where it is reached.
    pub address: Address,
    /// Jobs at a time.
    pub slots: usize,
    /// What it calls the compiler, where the user said so.
    pub compiler: Option<String>,
}

/// The hosts of a link and what else the list said.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// Hosts that are asked.
    pub volunteers: Vec<Volunteer>,
    /// Hosts that are not, and why.
    pub left_out: Vec<LeftOut>,
    /// Local slots, when the list names `localhost`.
    pub local_slots: Option<usize>,
}
