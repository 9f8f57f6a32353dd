//! The settings of the icecream cluster.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use thinbridge_protocol::icecream::{discovery, limits};

use super::layer::Layer;
use super::{Environment, UsageError, environment};

/// The newest protocol version that may be spoken: 43 is what the newest release of icecream speaks (1.4), 30 (of 1.0)
/// is the oldest in which a compiler can be named.
pub const PROTOCOLS: RangeInclusive<u32> = 30..=43;

/// The longest path of a UNIX socket, in bytes: `sun_path` holds 108, one of them for the NUL.
const MAX_SOCKET_PATH: usize = 107;

/// The longest host name, in bytes: what DNS allows.
const MAX_HOST: usize = 253;

/// Whether and how a link takes part in an icecream cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icecream {
    /// Where the way in is.
    pub place: Place,
    /// Which cluster a broadcast is for; `None`: the machine's own, else [`discovery::DEFAULT_NETNAME`].
    pub netname: Option<String>,
    /// Whether hosts that lack the environment are sent it.
    pub ship: bool,
    /// The newest protocol version to speak, one of [`PROTOCOLS`].
    pub protocol: u32,
    /// The only host that may be asked, by name or address (`ICECC_PREFERRED_HOST`).
    pub preferred_host: Option<String>,
}

/// The way into the cluster that the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// No cluster is used.
    #[default]
    Off,
    /// Whatever this machine offers: its `iceccd`, else the scheduler that its settings or the network name.
    Auto,
    /// This scheduler.
    Scheduler {
        /// Name or IPv4 address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// The `iceccd` that listens at this UNIX socket.
    Daemon(PathBuf),
}

impl Place {
    /// Parses `auto`, `off`, `HOST[:PORT]` or `unix:PATH`; `None` for anything else, such as an IPv6 address.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "off" => Some(Self::Off),
            "auto" => Some(Self::Auto),
            other => match other.strip_prefix("unix:") {
                Some(path) => socket_path(path).map(Self::Daemon),
                None if is_switch(other) => None,
                None => scheduler(other).map(|(host, port)| Self::Scheduler { host, port }),
            },
        }
    }
}

/// Parses `HOST[:PORT]`, the way that icecream itself names a scheduler: a name or an IPv4 address, since icecream
/// knows no IPv6.
pub(crate) fn scheduler(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.split_once(':') {
        None => (text, discovery::PORT),
        Some((host, port)) => (host, port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse().ok())??),
    };
    (is_host(host) && port > 0).then(|| (host.into(), port))
}

/// A word that means a switch, not a host. `--icecream=on` would otherwise look for a machine called "on".
fn is_switch(text: &str) -> bool {
    ["on", "off", "auto", "true", "false", "yes", "no"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn is_host(text: &str) -> bool {
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_name = !text.is_empty() && text.len() <= MAX_HOST && text.bytes().all(in_name);
    // The resolver takes "10.1" and "1" for addresses; hardly anybody who writes that means what it makes of them.
    let is_numeric = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_name && !text.starts_with(['-', '.']) && (!is_numeric || text.parse::<Ipv4Addr>().is_ok())
}

fn socket_path(text: &str) -> Option<PathBuf> {
    (!text.is_empty() && text.len() <= MAX_SOCKET_PATH && !text.contains('\0')).then(|| text.into())
}

/// Parses a netname: some text, without what no scheduler's answer can hold.
pub(crate) fn netname(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text.len() <= limits::MAX_NETNAME_LEN && !text.contains(char::is_control)).then(|| text.into())
}

/// Parses a protocol version.
pub(crate) fn protocol(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|version| PROTOCOLS.contains(version))
}

/// The settings that the options and the environment make together.
pub(super) fn settings(options: &mut Layer, env: Environment<'_>) -> Result<Icecream, UsageError> {
    let place = options.icecream.take().unwrap_or_default();
    let ship = options.icecream_ship.unwrap_or(true);
    if matches!(place, Place::Daemon(_)) && !ship {
        return Err(UsageError::Contradiction {
            what: "--icecream unix:PATH and --icecream-ship off cannot both hold, since a job that the local iceccd \
                   gives to a host without the compiler cannot be handed back"
                .into(),
            mend: "name the scheduler with --icecream HOST, or leave --icecream-ship on".into(),
        });
    }
    let preferred_host = match place {
        Place::Off => None,
        _ => environment::text(env, "ICECC_PREFERRED_HOST")?,
    };
    Ok(Icecream {
        place,
        netname: options.icecream_netname.take(),
        ship,
        protocol: options.icecream_protocol.unwrap_or(*PROTOCOLS.end()),
        preferred_host,
    })
}
