//! The settings of one link, from the command line, the environment and the configuration files.
//!
//! Nothing here touches the process: the environment and the files are read through functions of the caller.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::{self, Request};

mod environment;
mod error;
mod file;
mod hosts;
pub(crate) mod icecream;
pub(crate) mod layer;
pub(crate) mod values;

#[cfg(test)]
mod tests;

pub use error::{Position, UsageError};
pub use file::MAX_FILE_BYTES;
pub use hosts::{HostsSource, Origin};
pub use icecream::{Icecream, PROTOCOLS, Place};
pub use layer::RemoteCompilers;
pub use values::{Fallback, Share, SshCommand};

/// Looks up a variable of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Reads a whole file.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// The configuration file of the machine, below the user's own.
pub const SYSTEM_FILE: &str = "/etc/thinbridge/config.toml";

/// What the user asks for.
#[derive(Debug)]
pub enum Invocation {
    /// Print this text on stdout and exit with 0.
    Help(String),
    /// Print this text on stdout and exit with 0.
    Version(String),
    /// Make an environment for icecream.
    Environment(Packing),
    /// Run the jobs of a link.
    Run(Box<Settings>),
}

/// What to make an environment of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The compiler; `None`: the usual one on the PATH.
    pub compiler: Option<String>,
    /// Where to put a copy of the archive.
    pub output: Option<PathBuf>,
}

/// The settings of one link.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The job description that the linker wrote.
    pub json: PathBuf,
    /// Why every job runs on this machine; `None` when hosts may be used.
    pub local_only: Option<LocalOnly>,
    /// The host list and where it was found; `None` when there is none.
    pub hosts: Option<HostsSource>,
    /// Local jobs at the same time as remote ones; `None`: as many as this machine can do.
    pub local_slots: Option<usize>,
    /// What the hosts call the compiler, where that was said.
    pub remote_compilers: RemoteCompilers,
    /// Whether and how an icecream cluster is used.
    pub icecream: Icecream,
    /// Whether a job that was meant for a host may run locally.
    pub fallback: Fallback,
    /// The share of the jobs that may fall back; `None`: all.
    pub max_fallback: Option<Share>,
    /// The share of the remote jobs that is compiled locally too and compared.
    pub verify: Share,
    /// The name of the report, with its `{output}` and `{pid}` not yet replaced.
    pub report: Option<String>,
    /// Whether to say where each job runs.
    pub verbose: bool,
    /// How long a host may be silent, where the user said so (`DISTCC_IO_TIMEOUT`).
    pub io_timeout: Option<Duration>,
    /// The file that messages are appended to instead of stderr (`DISTCC_LOG`).
    pub log: Option<PathBuf>,
    /// How to start ssh (`DISTCC_SSH`).
    pub ssh: SshCommand,
    /// What the user should be told of how these settings came about: a line each.
    pub notes: Vec<String>,
}

/// Why no host is used at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalOnly {
    /// `THINBRIDGE=off`.
    SwitchedOff,
    /// `_DISTCC_SAFEGUARD` is set: this link runs inside a job of a distcc host.
    InsideDistcc,
}

impl std::fmt::Display for LocalOnly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::SwitchedOff => "THINBRIDGE=off",
            Self::InsideDistcc => "_DISTCC_SAFEGUARD is set, this link runs inside a distcc job",
        })
    }
}

impl Settings {
    /// Finds the settings for the arguments `args` (without the program's name).
    ///
    /// # Errors
    /// Whatever the user has to mend: see [`UsageError`].
    pub fn load(args: Vec<OsString>, env: Environment<'_>, read: ReadFile<'_>) -> Result<Invocation, UsageError> {
        let (mut flags, json) = match cli::parse(args)? {
            Request::Help(text) => return Ok(Invocation::Help(text)),
            Request::Version(text) => return Ok(Invocation::Version(text)),
            Request::Environment(packing) => return Ok(Invocation::Environment(packing)),
            Request::Run { flags, json } => (*flags, json),
        };
        // A variable that is empty counts as not set, everywhere.
        let env = &|name: &str| env(name).filter(|value| !value.is_empty());
        let mut own = environment::own(env)?;
        let notes = RefCell::default();
        let read_own = &|path: &Path| file::read_own(path, read, &notes);
        let user_file = user_file(env);
        let mut user = user_file.as_deref().map_or(Ok(None), |path| file::load(path, read_own))?.unwrap_or_default();
        let mut system = file::load(Path::new(SYSTEM_FILE), read)?.unwrap_or_default();

        let given = [
            (flags.hosts.take(), Origin::Flag),
            (own.hosts.take(), Origin::Variable("THINBRIDGE_HOSTS")),
            (user.hosts.take(), Origin::File(user_file.unwrap_or_default())),
            (system.hosts.take(), Origin::File(SYSTEM_FILE.into())),
        ];
        let distcc = environment::distcc(env)?;
        let mut all = flags.over(own).over(distcc.layer).over(user.over(system));
        Ok(Invocation::Run(Box::new(Self {
            json,
            local_only: environment::local_only(env)?,
            hosts: hosts::find(given, env, read, read_own)?,
            local_slots: all.local_slots,
            icecream: icecream::settings(&mut all, env)?,
            remote_compilers: all.remote_compilers,
            fallback: all.fallback.unwrap_or(Fallback::Allowed),
            max_fallback: all.max_fallback,
            verify: all.verify.unwrap_or(Share::NONE),
            report: all.report,
            verbose: all.verbose.unwrap_or(false),
            io_timeout: distcc.io_timeout,
            log: distcc.log,
            ssh: distcc.ssh,
            notes: notes.take(),
        })))
    }
}

/// The user's configuration file. A relative `XDG_CONFIG_HOME` is ignored, as the XDG specification says.
fn user_file(env: Environment<'_>) -> Option<PathBuf> {
    let xdg = env("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = xdg.or_else(|| Some(PathBuf::from(env("HOME")?).join(".config")))?;
    Some(folder.join("thinbridge/config.toml"))
}
