//! The way into an icecream cluster: which local daemon or which scheduler a link talks to.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use thinbridge_protocol::icecream::discovery::DEFAULT_NETNAME;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::config::{Environment, Icecream, MAX_FILE_BYTES, Place, icecream};
use crate::files::read_at_most;
use crate::words::plain;

mod broadcast;
mod conf;
mod name;
mod not_found;
mod socket;

#[cfg(test)]
mod tests;

pub use broadcast::Network;
pub use name::{node_name, own_node_name, platform};
pub use not_found::NotFound;
pub use socket::local_daemon;

/// The settings of icecream on this machine, as Debian installs them.
const CONF: &str = "/etc/icecc/icecc.conf";

/// The variables that name a scheduler, the first counts.
const VARIABLES: [&str; 2] = ["ICECC_SCHEDULER", "USE_SCHEDULER"];

/// How long resolving a scheduler's name may take: what a distcc host's name is allowed as well.
const LOOK_UP: Duration = Duration::from_secs(4);

/// How long answers to a broadcast are collected: what icecream's own daemon allows. The whole time is always taken,
/// since which scheduler is the right one is only known when all have answered.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// A way into the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the `iceccd` that listens at this UNIX socket.
    Daemon(PathBuf),
    /// Through the scheduler itself.
    Scheduler {
        /// Where it listens; always IPv4.
        address: SocketAddr,
        /// Who named it, in words for people.
        found_by: String,
    },
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Daemon(path) => write!(f, "the iceccd at {}", path.to_string_lossy().escape_debug()),
            Self::Scheduler { address, found_by } => write!(f, "the scheduler {address} ({found_by})"),
        }
    }
}

/// What this machine offers: the places where a way may be found. Read once, without a wait.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where a local `iceccd` may listen, the first that accepts counts.
    pub sockets: Vec<PathBuf>,
    /// The variables of the environment that name a scheduler, and what they say; the first counts.
    pub variables: Vec<(&'static str, OsString)>,
    /// icecream's settings on this machine.
    pub conf: PathBuf,
    /// Where to broadcast; `None`: on all networks that this machine is on at that time.
    pub networks: Option<Vec<Network>>,
    /// How long answers to a broadcast are collected.
    pub answers_within: Duration,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        Self::of(&|name| std::env::var_os(name))
    }

    /// Those of a process with this environment.
    pub fn of(env: Environment<'_>) -> Self {
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        Self {
            sockets: socket::places(&env),
            variables: VARIABLES.into_iter().filter_map(|name| Some((name, env(name)?))).collect(),
            conf: CONF.into(),
            networks: None,
            answers_within: ANSWERS_WITHIN,
        }
    }
}

/// Finds the way that the settings ask for. Looks names up for 4 s at most and waits for answers to a broadcast for 3 s;
/// nothing else in here takes time. It does not connect to a scheduler: one that is named may not be there.
///
/// # Errors
/// There is none, in words for one line.
pub async fn find(settings: &Icecream, around: &Surroundings) -> Result<Way, NotFound> {
    match &settings.place {
        Place::Off => Err(NotFound::Off),
        Place::Daemon(path) => daemon(path),
        Place::Scheduler { host, port } => look_up(host, *port, "--icecream").await,
        Place::Auto => auto(settings, around).await,
    }
}

fn daemon(path: &Path) -> Result<Way, NotFound> {
    match socket::accepts(path) {
        Ok(()) => Ok(Way::Daemon(path.into())),
        Err(error) => Err(NotFound::Daemon { path: path.into(), reason: plain(&error) }),
    }
}

async fn auto(settings: &Icecream, around: &Surroundings) -> Result<Way, NotFound> {
    // What a local iceccd was given cannot be handed back without harm to the host that was chosen, which is what happens
    // to a job for a host without the environment when none is shipped.
    if settings.ship
        && let Some(path) = socket::first_that_accepts(&around.sockets)
    {
        return Ok(Way::Daemon(path));
    }
    if let Some((name, value)) = around.variables.first() {
        let value = value.to_string_lossy();
        let (host, port) = icecream::scheduler(value.trim())
            .ok_or_else(|| NotFound::Named { by: (*name).into(), given: value.trim().into() })?;
        return look_up(&host, port, name).await;
    }
    let conf = read_conf(&around.conf)?;
    if let Some(setting) = conf.scheduler {
        let by = format!("{}:{}", around.conf.to_string_lossy().escape_debug(), setting.line);
        return match icecream::scheduler(&setting.text) {
            Some((host, port)) => look_up(&host, port, &by).await,
            None => Err(NotFound::Named { by: format!("{by}: {}", conf::SCHEDULER), given: setting.text }),
        };
    }
    let netname = settings.netname.clone().or(conf.netname.map(|setting| setting.text));
    let netname = netname.as_deref().unwrap_or(DEFAULT_NETNAME);
    let networks = around.networks.clone().map_or_else(broadcast::networks, Ok)?;
    let address = broadcast::search(netname, &networks, around.answers_within).await?;
    let found_by = format!("found by broadcast, netname {}", netname.escape_debug());
    Ok(Way::Scheduler { address, found_by })
}

/// What icecream's settings on this machine say. No file says nothing, and neither does one that is not for us to read.
fn read_conf(path: &Path) -> Result<conf::Conf, NotFound> {
    let fault = |what| NotFound::Conf { path: path.into(), what };
    match read_at_most(path, MAX_FILE_BYTES) {
        Ok(bytes) => conf::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| fault(error.to_string())),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied => {
                Ok(conf::Conf::default())
            }
            _ => Err(fault(format!("cannot be read: {}", plain(&error)))),
        },
    }
}

/// The first IPv4 address of the scheduler that `by` names.
async fn look_up(host: &str, port: u16, by: &str) -> Result<Way, NotFound> {
    let fault = |reason: String| NotFound::Name { by: by.into(), host: host.into(), reason };
    // An address takes no thread.
    let addresses = match host.parse::<Ipv4Addr>() {
        Ok(address) => vec![SocketAddr::from((address, port))],
        Err(_) => resolve(host, port).await.map_err(fault)?,
    };
    match addresses.into_iter().find(SocketAddr::is_ipv4) {
        Some(address) => Ok(Way::Scheduler { address, found_by: format!("named by {by}") }),
        None => Err(fault("it has no IPv4 address, and icecream knows no other".into())),
    }
}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let name = host.to_owned();
    // The thread cannot be called back: it ends when the resolver does.
    let asked = spawn_blocking(move || (name.as_str(), port).to_socket_addrs().map(Vec::from_iter));
    match timeout(LOOK_UP, asked).await {
        Err(_) => Err(format!("the name was not resolved within {} s", LOOK_UP.as_secs())),
        Ok(Err(error)) => Err(format!("the name cannot be resolved: {error}")),
        Ok(Ok(Err(error))) => Err(format!("the name cannot be resolved: {}", plain(&error))),
        Ok(Ok(Ok(addresses))) => Ok(addresses),
    }
}
