//! Stock daemons on the loopback interface, for the length of one test.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{env, process, thread};

use crate::peer::PATIENCE;

/// Says why a test does nothing, which is a failure in CI.
pub(crate) fn skip(reason: &str) {
    assert!(env::var_os("CI").is_none(), "{reason}");
    eprintln!("skipped: {reason}");
}

/// Set where a test runs in a network of its own.
const INSIDE: &str = "THINBRIDGE_TEST_INSIDE";

/// Runs the test called `name` again, in a network namespace of its own: a stock daemon takes jobs from everybody who can
/// reach it. False for the outer run, which has nothing more to do then.
pub(crate) fn in_own_network(name: &str, programs: &[&str]) -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    if let Some(reason) = why_not(programs) {
        skip(&reason);
        return false;
    }
    let output = Command::new("unshare")
        .args(["--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let (words, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && words.contains("1 passed"), "in its network namespace: {words}{log}");
    log.lines().filter(|line| line.starts_with("skipped")).for_each(|line| eprintln!("{line}"));
    false
}

fn why_not(programs: &[&str]) -> Option<String> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Some("iceccd needs root to lock jobs up in their environment".to_owned());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| env::split_paths(&path).any(|folder| folder.join(program).exists());
    if let Some(missing) = ["unshare", "ip", "timeout"].iter().chain(programs).find(|program| !is_there(program)) {
        return Some(format!("{missing} is not on the path (install icecc, gcc, iproute2, util-linux)"));
    }
    let output = Command::new("unshare").args(["--net", "--mount", "true"]).output().unwrap();
    (!output.status.success())
        .then(|| format!("no namespaces here: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// A running program, stopped when dropped.
pub(crate) struct Program {
    child: Child,
    log: Receiver<String>,
}

impl Program {
    /// Starts `command`, which is to stay in the foreground and log to stderr.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let (sender, log) = channel();
        // Read on even when nobody looks, so that the program never waits for the pipe.
        thread::spawn(move || lines.for_each(|line| drop(sender.send(line))));
        Self { child, log }
    }

    /// Waits for a line of the log that contains `words`.
    pub(crate) fn await_line(&self, words: &str) {
        let mut seen = Vec::new();
        loop {
            match self.log.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(words) => return,
                Ok(line) => seen.push(line),
                Err(error) => panic!("no line {words:?} ({error}) in:\n{}", seen.join("\n")),
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Asked politely, a daemon ends its children too.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
        if thread::panicking() {
            self.log.try_iter().for_each(|line| eprintln!("log: {line}"));
        }
    }
}

/// A running iceccd.
pub(crate) struct Daemon {
    pub(crate) program: Program,
    pub(crate) address: SocketAddr,
    /// Where its local clients connect.
    pub(crate) socket: PathBuf,
    _idle: Idle,
}

impl Daemon {
    /// Starts it at `scheduler`, on `port`, with its files below `folder`.
    pub(crate) fn start(scheduler: SocketAddr, port: u16, folder: &Folder, options: &[&str]) -> Self {
        let (socket, environments) = (folder.path().join("socket"), folder.path().join("environments"));
        fs::create_dir_all(&environments).unwrap();
        for place in [folder.path(), environments.as_path()] {
            give_to_icecc(place);
        }
        let idle = Idle::start(folder.path().join("stat"));
        let mut command = Command::new("timeout");
        // A mount namespace of its own, in which the machine is idle. The time limit is for tests that are killed.
        command.args(["600", "unshare", "--mount", "sh", "-c", "mount --bind \"$0\" /proc/stat && exec iceccd \"$@\""]);
        command.arg(&idle.path);
        command.args(["-vvv", "-m", "2", "-N", "from-the-test", "-s", &scheduler.to_string()]);
        command.args(["-p", &port.to_string(), "-b"]).arg(&environments).args(options);
        command.env("ICECC_TEST_SOCKET", &socket);
        let program = Program::start(command);
        Self { program, address: (Ipv4Addr::LOCALHOST, port).into(), socket, _idle: idle }
    }
}

fn give_to_icecc(folder: &Path) {
    let id = |option| {
        let output = Command::new("id").args([option, "icecc"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().ok()
    };
    chown(folder, id("-u"), id("-g")).unwrap();
}

/// A file in place of `/proc/stat` that says that the machine does nothing at all.
struct Idle {
    path: PathBuf,
    over: Arc<AtomicBool>,
    ticking: Option<JoinHandle<()>>,
}

impl Idle {
    fn start(path: PathBuf) -> Self {
        let file = File::create(&path).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let mut ticks = 0u64;
        let mut tick = move || {
            ticks += 20;
            let cpu = format!("100 0 100 {ticks:010} 0 0 0 0 0 0");
            // Overwritten in place: the daemon has this very file mounted.
            file.write_all_at(format!("cpu  {cpu}\ncpu0 {cpu}\nintr 0\nctxt 0\n").as_bytes(), 0).unwrap();
        };
        tick();
        let ticking = thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(200));
                tick();
            }
        });
        Self { path, over, ticking: Some(ticking) }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.ticking.take().map(JoinHandle::join);
    }
}

/// A folder that also the daemon's user can read, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("thinbridge-icecream-{name}-{}", process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        File::create(&path).unwrap().write_all(content.as_ref()).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
