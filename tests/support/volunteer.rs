//! Stock `distccd`, started by `integration/volunteer`, ended with the value that stands for it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::ROOT;

/// Longest wait for a daemon's line; far above what a loaded machine needs, it only keeps a broken test from hanging.
const PATIENCE: Duration = Duration::from_secs(60);

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
        let mut child = Command::new(Path::new(ROOT).join("integration/volunteer"))
            .args(["--port", &port.to_string(), "--jobs", &self.jobs.to_string()])
            .arg("--mask")
            .arg(std::env::temp_dir())
            .args(&self.options)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("integration/volunteer starts");
        let life = child.stdin.take();
        let log = Arc::new(Log::default());
        let errors = BufReader::new(child.stderr.take().expect("its standard error is a pipe"));
        std::thread::spawn({
            let log = Arc::clone(&log);
            move || log.follow(errors)
        });
        Volunteer { child, life, port, jobs: self.jobs, log }
    }
}

/// One running `distccd`, ended with all that it started when dropped.
pub(crate) struct Volunteer {
    child: Child,
    /// The daemon lives as long as this is open.
    life: Option<ChildStdin>,
    port: u16,
    jobs: usize,
    log: Arc<Log>,
}

impl Volunteer {
    /// A volunteer as a package would set it up.
    pub(crate) fn start() -> Self {
        Self::setup().start()
    }

    /// A volunteer with something particular about it.
    pub(crate) fn setup() -> Setup {
        Setup { jobs: 2, options: Vec::new() }
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

    /// What the daemon has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.state.lock().expect("no holder panics").text.clone()
    }

    /// Waits until the daemon has logged this; an error with the whole log if it ends first.
    pub(crate) fn wait_for_log(&self, text: &str) -> Result<(), String> {
        let state = self.log.state.lock().expect("no holder panics");
        let (state, timeout) = self
            .log
            .grown
            .wait_timeout_while(state, PATIENCE, |state| !state.ended && !state.text.contains(text))
            .expect("no holder panics");
        assert!(!timeout.timed_out(), "{PATIENCE:?} went by without {text:?} in the log:\n{}", state.text);
        if state.text.contains(text) { Ok(()) } else { Err(state.text.clone()) }
    }

    /// How many jobs it has been asked for, `--version` probes included.
    pub(crate) fn requests(&self) -> usize {
        self.log().matches("(dcc_job_summary)").count()
    }

    /// Whether the client's files are hidden from it by a mount namespace.
    pub(crate) fn isolated(&self) -> bool {
        !self.log().contains(NOT_ISOLATED)
    }

    /// Stops every process of the daemon where it stands: connections stay open and nothing answers.
    pub(crate) fn suspend(&self) {
        let mut stopped = Vec::new();
        // A process that was not stopped yet may have started another one meanwhile.
        loop {
            let running: Vec<u32> = self.processes().into_iter().filter(|process| !stopped.contains(process)).collect();
            if running.is_empty() {
                return;
            }
            signal("-STOP", &running);
            stopped.extend(running);
        }
    }

    /// Lets a suspended daemon go on.
    pub(crate) fn resume(&self) {
        signal("-CONT", &self.processes());
    }

    /// Kills every process of the daemon at once, as a lost machine would end them.
    pub(crate) fn kill(&self) {
        signal("-KILL", &self.processes());
    }

    /// Waits until so many of its processes have stopped.
    pub(crate) fn wait_for_stopped(&self, count: usize) {
        let stopped = |process: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            status.rsplit_once(") ").is_some_and(|(_, status)| status.starts_with('T'))
        };
        let start = std::time::Instant::now();
        while self.processes().iter().filter(|process| stopped(process)).count() < count {
            assert!(start.elapsed() < PATIENCE, "{PATIENCE:?} went by and fewer than {count} processes stopped");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The command lines of the processes that it runs now, compilers included.
    pub(crate) fn command_lines(&self) -> Vec<String> {
        let read = |process| std::fs::read(format!("/proc/{process}/cmdline")).ok();
        let words = |line: Vec<u8>| String::from_utf8_lossy(&line).replace('\0', " ");
        self.processes().into_iter().filter_map(read).map(words).collect()
    }

    fn processes(&self) -> Vec<u32> {
        let mut found = vec![self.child.id()];
        let mut next = 0;
        while let Some(parent) = found.get(next) {
            let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
            found.extend(children.unwrap_or_default().split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
            next += 1;
        }
        found
    }

    /// The names in the daemon's temporary folder; only for an isolated one, as root.
    pub(crate) fn temporary_files(&self) -> Vec<String> {
        let daemon = *self.processes().last().expect("at least its own process");
        let entries = std::fs::read_dir(format!("/proc/{daemon}/root/tmp")).expect("the daemon's /tmp");
        entries.map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Volunteer {
    fn drop(&mut self) {
        // The end of its input ends the daemon and its namespace; a suspended one has to be killed.
        drop(self.life.take());
        if self.isolated() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Signals processes; one that has ended meanwhile is as good as signalled.
fn signal(signal: &str, processes: &[u32]) {
    let processes = processes.iter().map(u32::to_string);
    let _ = Command::new("kill").arg(signal).args(processes).stderr(Stdio::null()).status();
}

#[derive(Default)]
struct Log {
    state: Mutex<LogState>,
    grown: Condvar,
}

#[derive(Default)]
struct LogState {
    text: String,
    ended: bool,
}

impl Log {
    fn follow(&self, mut errors: impl BufRead) {
        let mut line = Vec::new();
        while errors.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            self.state.lock().expect("no holder panics").text.push_str(&String::from_utf8_lossy(&line));
            self.grown.notify_all();
            line.clear();
        }
        self.state.lock().expect("no holder panics").ended = true;
        self.grown.notify_all();
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
