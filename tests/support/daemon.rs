//! A daemon that runs until its standard input ends, and what it has logged so far.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Longest wait for what a daemon is about to do; far above what a loaded machine needs, it only keeps a broken test
/// from hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A process with all that it has started.
pub(crate) struct Daemon {
    child: Child,
    /// It lives as long as this is open.
    life: Option<ChildStdin>,
    log: Arc<Log>,
}

impl Daemon {
    /// Starts it; its standard error is its log.
    pub(super) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} did not start: {error}"));
        let life = child.stdin.take();
        let log = Arc::new(Log::default());
        let errors = BufReader::new(child.stderr.take().expect("its standard error is a pipe"));
        std::thread::spawn({
            let log = Arc::clone(&log);
            move || log.follow(errors)
        });
        Self { child, life, log }
    }

    /// The process that was started.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it writes to its standard output, which the command made a pipe.
    pub(super) fn stdout(&mut self) -> std::process::ChildStdout {
        self.child.stdout.take().expect("its standard output is a pipe, read once")
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.state.lock().expect("no holder panics").text.clone()
    }

    /// Waits until it has logged this; an error with the whole log if it ends first.
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
        let start = Instant::now();
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

    /// Its process and all below it, parents first.
    pub(super) fn processes(&self) -> Vec<u32> {
        let mut found = vec![self.child.id()];
        let mut next = 0;
        while let Some(parent) = found.get(next) {
            let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
            found.extend(children.unwrap_or_default().split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
            next += 1;
        }
        found
    }

    /// The first of its processes that runs this program.
    pub(super) fn process(&self, program: &str) -> Option<u32> {
        let runs = |process: &u32| {
            std::fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name.trim_end() == program)
        };
        self.processes().into_iter().find(runs)
    }

    /// A path as the daemon sees it; only for one in a mount namespace, as root.
    pub(crate) fn folder(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.child.id()))
    }

    /// Ends it: the end of its input does, but one that is suspended, or does not look there, has to be killed.
    pub(super) fn end(&mut self, kill: bool) {
        drop(self.life.take());
        if kill {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Signals processes; one that has ended meanwhile is as good as signalled.
pub(super) fn signal(signal: &str, processes: &[u32]) {
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
