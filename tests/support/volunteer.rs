//! Stock `distccd`, started by `integration/volunteer`, ended with the value that stands for it.

use std::ffi::OsString;
use std::net::TcpListener;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cluster::Client;
use super::daemon::Daemon;
use super::{Cluster, ROOT};

/// The line after which connections are accepted. ("listening on" comes before it listens.)
const READY: &str = "preforking daemon started";

/// What a volunteer without a namespace of its own says.
const NOT_ISOLATED: &str = "no mount namespace";

/// How often another port is tried when somebody else took the free one before the daemon did.
const PORTS_TRIED: usize = 20;

/// How a volunteer is to be started.
#[derive(Clone)]
pub(crate) struct Setup {
    jobs: usize,
    client: Option<Client>,
    options: Vec<OsString>,
}

impl Setup {
    /// Jobs that the daemon runs at the same time; 2 if not said.
    pub(crate) fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs;
        self
    }

    /// Only these addresses may use the daemon, instead of 127.0.0.1.
    pub(crate) fn allow(self, network: &str) -> Self {
        self.option("--allow", network)
    }

    /// Hides one more of the client's folders. The checkout, the home and all temporary folders are always hidden.
    pub(crate) fn mask(self, folder: &Path) -> Self {
        self.option("--mask", folder)
    }

    /// Programs that the daemon finds before the installed ones: a fake `clang-22`, say. The folder is copied.
    pub(crate) fn compilers(self, folder: &Path) -> Self {
        self.option("--compilers", folder)
    }

    /// Only compilers of these names are accepted (once for each name), instead of all that are installed.
    pub(crate) fn accept(self, name: &str) -> Self {
        self.option("--accept", name)
    }

    /// A clang configuration file, in force for this daemon's clang-22 if it is called `clang.cfg` or
    /// `<triple>-clang.cfg`.
    pub(crate) fn clang_config(self, file: &Path) -> Self {
        self.option("--config", file)
    }

    /// On the loopback address of a cluster's client, where links through that cluster run.
    pub(crate) fn beside(mut self, cluster: &Cluster) -> Self {
        self.client = Some(cluster.client());
        self
    }

    fn option(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.options.push(name.into());
        self.options.push(value.into());
        self
    }

    /// Starts the daemon and returns once it listens.
    pub(crate) fn start(self) -> Volunteer {
        for _ in 0..PORTS_TRIED {
            let volunteer = self.start_at(free_port());
            match volunteer.wait_for_log(READY) {
                Ok(()) => {
                    tell_isolation(volunteer.isolated());
                    return volunteer;
                }
                Err(log) if log.contains("Address already in use") => {}
                Err(log) => panic!("distccd did not start: {log}"),
            }
        }
        panic!("no free port in {PORTS_TRIED} tries");
    }

    /// Starts the daemon at a port that another one has just left.
    pub(crate) fn start_on(self, port: u16) -> Volunteer {
        let volunteer = self.start_at(port);
        volunteer.wait_for_log(READY).unwrap_or_else(|log| panic!("distccd did not start again: {log}"));
        tell_isolation(volunteer.isolated());
        volunteer
    }

    fn start_at(&self, port: u16) -> Volunteer {
        let mut command = Command::new(Path::new(ROOT).join("integration/volunteer"));
        command
            .args(["--port", &port.to_string(), "--jobs", &self.jobs.to_string()])
            .arg("--mask")
            .arg(std::env::temp_dir())
            .args(&self.options);
        if let Some(client) = self.client {
            command = client.inside(&command);
        }
        let daemon = Daemon::start(command.stdout(Stdio::null()));
        Volunteer { daemon, port, jobs: self.jobs }
    }
}

/// One running `distccd`, ended with all that it started when dropped.
pub(crate) struct Volunteer {
    daemon: Daemon,
    port: u16,
    jobs: usize,
}

/// What can be done with any daemon.
impl Deref for Volunteer {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.daemon
    }
}

impl Volunteer {
    /// A volunteer as a package would set it up.
    pub(crate) fn start() -> Self {
        Self::setup().start()
    }

    /// A volunteer with something particular about it.
    pub(crate) fn setup() -> Setup {
        Setup { jobs: 2, client: None, options: Vec::new() }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Its `address:port`, as reports name it.
    pub(crate) fn name(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its entry in a host list.
    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}/{}", self.port, self.jobs)
    }

    /// How many jobs it has been asked for, `--version` probes included.
    pub(crate) fn requests(&self) -> usize {
        self.log().matches("(dcc_job_summary)").count()
    }

    /// Whether the client's files are hidden from it by a mount namespace.
    pub(crate) fn isolated(&self) -> bool {
        !self.log().contains(NOT_ISOLATED)
    }

    /// The names in the daemon's temporary folder; only for an isolated one, as root.
    pub(crate) fn temporary_files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.daemon.folder("/tmp")).expect("the daemon's /tmp");
        entries.map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Volunteer {
    fn drop(&mut self) {
        // The namespace ends with its first process; without one, killing it would leave the daemon behind.
        let isolated = self.isolated();
        self.daemon.end(isolated);
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// Several volunteers.
pub(crate) struct Farm {
    pub(crate) volunteers: Vec<Volunteer>,
}

impl Farm {
    pub(crate) fn start(count: usize) -> Self {
        Self { volunteers: (0..count).map(|_| Volunteer::start()).collect() }
    }

    /// All of them as a host list.
    pub(crate) fn hosts(&self) -> String {
        self.volunteers.iter().map(Volunteer::host).collect::<Vec<_>>().join(" ")
    }
}

/// A stand-in for ssh that runs `distccd --inetd`, kept from the client's files, whatever host it is asked for.
/// Answers its path, for `DISTCC_SSH`.
pub(crate) fn fake_ssh(folder: &super::Workdir) -> PathBuf {
    let volunteer = Path::new(ROOT).join("integration/volunteer");
    // With nothing to serve it ends at once, but not without a word about its namespace.
    let trial = Command::new(&volunteer).arg("--inetd").stdin(Stdio::null()).output();
    let words = trial.expect("integration/volunteer starts").stderr;
    tell_isolation(!String::from_utf8_lossy(&words).contains(NOT_ISOLATED));

    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let (volunteer, temporary) = (quoted(&volunteer), quoted(&std::env::temp_dir()));
    folder.write_executable("ssh", &format!("#!/bin/sh\nexec {volunteer} --inetd --mask {temporary}\n"))
}

/// Without a namespace, a path that was not carried over opens the client's file and the test proves less: a warning,
/// and a failure under CI.
fn tell_isolation(isolated: bool) {
    let why = "no mount namespace may be made here, so the daemon may see the client's files";
    assert!(isolated || std::env::var_os("CI").is_none(), "CI is set, so nothing may be proved by halves, but {why}");
    if !isolated {
        eprintln!("warning: {why}");
    }
}
