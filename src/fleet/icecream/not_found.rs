//! Why there is no way into a cluster.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Why there is no way into the cluster. Its text is one line, with the mend where the user has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// None was asked for.
    Off,
    /// Nobody accepts at the socket that the user named.
    Daemon {
        /// The socket.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// icecream's own settings name a scheduler in a way that is not understood.
    Named {
        /// The variable, or the file with its line.
        by: String,
        /// What stands there.
        given: String,
    },
    /// icecream's settings on this machine cannot be read.
    Conf {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The scheduler's name has no address that can be used.
    Name {
        /// The option, the variable, or the file with its line.
        by: String,
        /// The name.
        host: String,
        /// Why not.
        reason: String,
    },
    /// There is no network to broadcast on.
    NoNetwork,
    /// The broadcast could not be sent at all.
    Unsent {
        /// Why not.
        reason: String,
    },
    /// No scheduler of this cluster answered.
    NoAnswer {
        /// The cluster.
        netname: String,
        /// The networks that were asked, by the names of their interfaces.
        networks: Vec<String>,
        /// The clusters whose schedulers did answer.
        others: Vec<String>,
        /// How long was waited.
        within: Duration,
    },
}

/// What helps wherever nothing was named.
const MEND: &str = "name a scheduler with --icecream HOST";

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("no icecream cluster was asked for"),
            Self::Daemon { path, reason } => {
                write!(f, "no iceccd at {}: {}", path.to_string_lossy().escape_debug(), reason.escape_debug())
            }
            Self::Named { by, given } => write!(
                f,
                "{by}={}: expected HOST[:PORT], a name or an IPv4 address (icecream knows no IPv6)",
                given.escape_debug()
            ),
            Self::Conf { path, what } => {
                write!(f, "{}: {what}; {MEND}", path.to_string_lossy().escape_debug())
            }
            Self::Name { by, host, reason } => {
                write!(f, "no icecream scheduler at {}, named by {by}: {}", host.escape_debug(), reason.escape_debug())
            }
            Self::NoNetwork => {
                write!(f, "no icecream scheduler: this machine is on no network that takes broadcasts; {MEND}")
            }
            Self::Unsent { reason } => {
                write!(f, "no icecream scheduler: the broadcast could not be sent: {}; {MEND}", reason.escape_debug())
            }
            Self::NoAnswer { netname, networks, others, within } => {
                write!(
                    f,
                    "no icecream scheduler answered within {} s for the netname {} on {}",
                    within.as_secs_f64(),
                    netname.escape_debug(),
                    networks.join(", ").escape_debug()
                )?;
                match others.as_slice() {
                    [] => write!(f, "; {MEND}"),
                    others => write!(
                        f,
                        ", only for {}; give the right one with --icecream-netname, or {MEND}",
                        others.join(", ").escape_debug()
                    ),
                }
            }
        }
    }
}
