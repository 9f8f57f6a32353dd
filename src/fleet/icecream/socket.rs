//! The local `iceccd`'s socket.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// Where an `iceccd` of the whole machine listens: the first two as root's daemon, the others where a distribution or a
/// container has no such folder. `/var/run` is a link to `/run` nearly everywhere.
const SOCKETS: [&str; 4] =
    ["/var/run/icecc/iceccd.socket", "/run/icecc/iceccd.socket", "/var/run/iceccd.socket", "/run/iceccd.socket"];

/// Where a user's own `iceccd` listens, in the home folder.
const USER_SOCKET: &str = ".iceccd.socket";

/// What replaces all of these, for icecream's own programs too.
const OVERRIDE: &str = "ICECC_TEST_SOCKET";

/// The socket of the `iceccd` that runs on this machine, if one does. Takes no time.
pub fn local_daemon() -> Option<PathBuf> {
    first_that_accepts(&places(&|name| std::env::var_os(name).filter(|value| !value.is_empty())))
}

/// Where a local `iceccd` may listen, in the order that icecream's own client tries.
pub(super) fn places(env: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    if let Some(path) = env(OVERRIDE) {
        return vec![path.into()];
    }
    let home = env("HOME").map(|home| PathBuf::from(home).join(USER_SOCKET));
    SOCKETS.iter().map(PathBuf::from).chain(home).collect()
}

pub(super) fn first_that_accepts(places: &[PathBuf]) -> Option<PathBuf> {
    places.iter().find(|path| accepts(path).is_ok()).cloned()
}

/// Whether somebody listens at the socket. A daemon whose queue of connections is full does not: it is stuck.
pub(super) fn accepts(path: &Path) -> io::Result<()> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    socket.connect(&SockAddr::unix(path)?)
}
