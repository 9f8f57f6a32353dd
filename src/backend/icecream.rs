//! A stock icecream cluster: all connections that a link has there.
//!
//! A [`Cluster`] looks for a way in, asks for slots and hands out what it is given: a [`Grant`] for one job on one
//! compile server, or a [`LocalGrant`] for a slot of this machine. What the caller does with it is the caller's matter;
//! that the scheduler's books are right afterwards is settled here, also when a grant is dropped.
//!
//! There are two ways in. Where an `iceccd` runs on this machine, each request is a connection to it (`daemon`).
//! Otherwise the link itself logs in at the scheduler, as a daemon that takes no jobs (`own`).

mod archive;
mod books;
mod cluster;
mod daemon;
mod grant;
mod job;
mod member;
mod messages;
mod own;
mod server;
mod shipment;
#[cfg(test)]
mod tests;
mod ticket;
mod turn;
mod verdict;
mod wire;

use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use thinbridge_protocol::icecream::arg_flags as flags;

use crate::config::Icecream;
use crate::fleet::icecream::Surroundings;

pub use archive::Archive;
pub use cluster::Cluster;
pub use daemon::{LocalDaemon, LocalHold};
pub use grant::{Frames, Grant, Payload};
pub use job::{payload, rating};
pub use ticket::{LocalGrant, LocalWork};

/// What a link needs of a cluster, and what the cluster may know of the link.
pub struct Options {
    /// Which cluster, and how.
    pub settings: Icecream,
    /// Where a way in may be found.
    pub around: Surroundings,
    /// The environment, which may still be in the making: finding and logging in go on meanwhile, and nothing is asked
    /// for before it is there. An error ends the cluster's part in the link with these words.
    pub environment: Environment,
    /// What is compiled, for people who watch the cluster: the linker's output.
    pub title: String,
    /// How the modules are compiled, which hosts are rated by; see [`arg_flags`].
    pub arg_flags: u32,
    /// Folder for the locks by which all links of this user take turns at a scheduler; `None`: this link does not know of
    /// others. (Not needed at a local `iceccd`, which counts all of them as one.)
    pub turns: Option<PathBuf>,
}

/// An environment that may still be in the making; an error is in words for people.
pub type Environment = Pin<Box<dyn Future<Output = Result<Kit, String>> + Send>>;

/// The environment as hosts are sent it.
#[derive(Debug)]
pub struct Kit {
    /// Its name, which says what is in it.
    pub name: String,
    /// The `.tar.zst`.
    pub archive: Arc<Archive>,
    /// What machines it is for, in icecream's words: `x86_64`.
    pub platform: String,
}

/// What a cluster has to say.
#[derive(Debug)]
pub enum News {
    /// It can be asked.
    Joined {
        /// Which way, in words for people.
        way: String,
    },
    /// A slot on a host is ours, for one job.
    Granted(Grant),
    /// The hosts are full, and the local `iceccd` gives a slot of this machine for one job: "compile it yourself".
    Here(LocalGrant),
    /// An environment has arrived at a host, or has not. Told for every grant whose host had none.
    Shipped(Shipment),
    /// No host could ever take our jobs. No request is unanswered now.
    Nobody {
        /// In words for people.
        reason: String,
    },
    /// The connection to the scheduler is lost. It is looked for again; grants are good still, and no request is
    /// unanswered now.
    Lost {
        /// In words for people.
        reason: String,
    },
    /// Worth a line for people; changes nothing.
    Note(String),
    /// The cluster is out for this link. Grants are good still.
    Over {
        /// In words for people.
        reason: String,
    },
}

/// An environment on its way to a host.
#[derive(Clone, Debug)]
pub struct Shipment {
    /// Whom.
    pub host: SocketAddrV4,
    /// Bytes written to the host for it.
    pub bytes: u64,
    /// From the grant to the host's word that it works.
    pub took: Duration,
    /// `Err`: it did not arrive or does not work there, and why.
    pub result: Result<(), String>,
}

/// What the hosts' speeds are rated by: an unoptimised compile does less for each byte of its output than an optimised
/// one, and debug information is cheap to make. `optimisation`: the digit of `-O`, 2 for `s` and `z`.
pub fn arg_flags(optimisation: u32, debug_information: bool) -> u32 {
    let optimisation = match optimisation {
        0 => 0,
        1 => flags::OPTIMIZE,
        2 => flags::OPTIMIZE_MORE,
        _ => flags::OPTIMIZE_OTHERWISE,
    };
    optimisation | if debug_information { flags::DEBUG } else { 0 }
}
