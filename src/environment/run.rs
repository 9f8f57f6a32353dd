//! Asks a program something, with a bound on the time and on the answer.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::EnvironmentError;
use crate::words::plain;

/// How long a program may take for an answer. The slowest question, to compile an empty file, takes tens of
/// milliseconds; on a machine that is busy and reads the compiler from a slow disk, seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two looks whether a program has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Longest answer in bytes. A version and a list of libraries have some hundreds.
const MAX_ANSWER: u64 = 1024 * 1024;

/// What a program answered.
pub(super) struct Answer {
    /// How it ended.
    pub(super) status: ExitStatus,
    /// What it wrote to stdout.
    pub(super) stdout: String,
    /// What it wrote to stderr.
    pub(super) stderr: String,
}

impl Answer {
    /// The first line of what it complained about.
    pub(super) fn complaint(&self) -> &str {
        self.stderr.lines().next().unwrap_or_default()
    }
}

/// Runs the command and waits for its end. In English, so that its words are understood, and without preloaded
/// libraries, which are none of the program's own.
///
/// # Errors
/// It cannot be started, or does not end in time.
pub(super) fn ask(command: &mut Command) -> Result<Answer, EnvironmentError> {
    let no_answer = |command: &Command, what| EnvironmentError::NoAnswer { command: words(command), what };
    command.env("LC_ALL", "C").env_remove("LD_PRELOAD").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = command.spawn();
    let mut child = started.map_err(|error| no_answer(command, format!("cannot be started: {}", plain(&error))))?;
    let stdout = child.stdout.take().map(reader);
    let stderr = child.stderr.take().map(reader);
    let status = wait(&mut child).ok_or_else(|| no_answer(command, format!("took more than {PATIENCE:?}")))?;
    let text = |reader: Option<thread::JoinHandle<String>>| reader.and_then(|reader| reader.join().ok());
    Ok(Answer { status, stdout: text(stdout).unwrap_or_default(), stderr: text(stderr).unwrap_or_default() })
}

/// Reads in the background, so that no pipe is full while the other is read.
fn reader(pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is as good an answer as there is.
        let _ = pipe.take(MAX_ANSWER).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The status at the end; `None`: there was none in time. Nothing of the process group is left.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let limit = Instant::now() + PATIENCE;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let kill = || group.map(|group| kill_process_group(group, Signal::KILL));
    while Instant::now() < limit {
        match child.try_wait() {
            Ok(Some(status)) => {
                let _ = kill();
                return Some(status);
            }
            Ok(None) => thread::sleep(LOOK_AGAIN),
            Err(_) => break,
        }
    }
    let _ = kill();
    let _ = child.wait();
    None
}

/// The command for people.
pub(super) fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
