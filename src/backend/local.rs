//! A backend compile on this machine.

use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::io::Errno;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio::{join, select};

use crate::link::command::Compile;

/// Largest object taken from a local compiler's standard output: far above any module's, far below memory.
const MAX_OBJECT: u64 = 4 << 30;

/// What is kept of a compiler's messages; the rest is read and thrown away.
const MAX_WORDS: u64 = 16 << 20;

/// How long the pipes may stay open after the compiler's own end. What it wrote is in them by then; who still holds them
/// is a process that a wrapper left behind, such as a cache's server.
const PIPES_OUTLIVE: Duration = Duration::from_millis(500);

/// Pause before a compiler that found no room is started again, unless another one ends before.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// How often a compiler is started again while none of ours runs whose end would make room: for half a minute, in which
/// the deadlines of hosts end connections.
const TRIES_ALONE: u32 = 300;

/// Tells a compiler, and distcc should it be one, that it was started by a distributor: nobody distributes twice.
const SAFEGUARD: &str = "_DISTCC_SAFEGUARD";

/// How a compiler ended.
#[derive(Debug)]
pub struct Outcome {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output: the object, where the command says `-o -`.
    pub stdout: Vec<u8>,
    /// Its messages.
    pub stderr: Vec<u8>,
    /// From its start to its end.
    pub took: Duration,
}

/// Runs the compiler to its end. Dropping the future kills it and all it started.
///
/// What it started and left running is not waited for: its output counts as whole soon after its own end.
///
/// # Errors
/// It cannot be started, or its output cannot be read.
pub async fn run(compile: Compile) -> io::Result<Outcome> {
    let (program, arguments) = compile
        .command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no compiler named"))?;
    let stdin = if compile.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut command = Command::new(program);
    command.args(arguments).env(SAFEGUARD, "1").process_group(0);
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = when_there_is_room(|| command.spawn()).await?;
    let start = Instant::now();
    let mut group = Group::new(child, if compile.writes_files { Signal::TERM } else { Signal::KILL });
    let stdin = group.child.stdin.take();
    let (out, err) = (group.child.stdout.take(), group.child.stderr.take());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status = {
        let feed = feed(stdin, compile.stdin);
        let pipes = async { join!(feed, read(out, MAX_OBJECT, &mut stdout), read(err, MAX_WORDS, &mut stderr)) };
        let mut pipes = pin!(pipes);
        let (status, pipes) = select! {
            pipes = &mut pipes => (group.child.wait().await?, Some(pipes)),
            status = group.child.wait() => (status?, timeout(PIPES_OUTLIVE, pipes).await.ok()),
        };
        // A compiler that ends without reading its input has its own words for that; its status decides.
        if let Some((_, stdout, stderr)) = pipes {
            stdout.and(stderr)?;
        }
        status
    };
    Ok(Outcome { status, stdout, stderr, took: start.elapsed() })
}

/// Starts something; while the machine has no room for it (descriptors, processes, memory) as often as it takes, for
/// each compiler of ours that ends makes room. When there is none, others' room is waited for, but not for ever.
async fn when_there_is_room<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut tries_alone = 0;
    loop {
        let ended = ENDED.notified();
        match start() {
            Err(error) if lacks_room(&error) && tries_alone < TRIES_ALONE => {
                tries_alone += u32::from(RUNNING.load(Ordering::Relaxed) == 0);
                let _ = timeout(TRY_AGAIN, ended).await;
            }
            result => return result,
        }
    }
}

fn lacks_room(error: &io::Error) -> bool {
    let short = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| short.contains(&errno))
}

async fn feed(pipe: Option<ChildStdin>, bytes: Option<Bytes>) -> io::Result<()> {
    match (pipe, bytes) {
        (Some(mut pipe), Some(bytes)) => pipe.write_all(&bytes).await,
        _ => Ok(()),
    }
}

/// Reads to the end, keeping the first `cap` bytes. Dropped before that, it has kept what had come.
async fn read(pipe: Option<impl AsyncRead + Unpin>, cap: u64, kept: &mut Vec<u8>) -> io::Result<()> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let mut first = (&mut pipe).take(cap);
    while first.read_buf(kept).await? > 0 {}
    tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    Ok(())
}

/// Compilers that run at this moment, and the news that one has ended.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static ENDED: Notify = Notify::const_new();

/// A compiler in a process group of its own: a driver or a wrapper such as ccache starts others, and all go with it.
struct Group {
    child: Child,
    last_signal: Signal,
}

impl Group {
    fn new(child: Child, last_signal: Signal) -> Self {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Self { child, last_signal }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
        ENDED.notify_waiters();
        // Without an id it has ended and was waited for; the number may already be another's.
        let group = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            // It may end at this very moment: nothing is left to do then.
            let _ = rustix::process::kill_process_group(group, self.last_signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Compile {
        Compile { command: vec!["/bin/sh".into(), "-c".into(), script.into()], stdin: None, writes_files: false }
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn output_and_messages_are_kept_apart() {
        let outcome = runtime().block_on(run(shell("printf object; printf words >&2; exit 3"))).unwrap();
        assert_eq!(outcome.stdout, b"object");
        assert_eq!(outcome.stderr, b"words");
        assert_eq!(outcome.status.code(), Some(3));
    }

    #[test]
    fn standard_input_is_fed_and_ends() {
        let compile = Compile { stdin: Some(Bytes::from_static(b"shard")), ..shell("cat") };
        assert_eq!(runtime().block_on(run(compile)).unwrap().stdout, b"shard");
        let deaf = Compile { stdin: Some(Bytes::from(vec![0; 1 << 20])), ..shell("exec true") };
        assert!(runtime().block_on(run(deaf)).unwrap().status.success());
    }

    #[test]
    fn a_dropped_compile_leaves_no_process() {
        use std::io::Read;
        use std::os::fd::AsRawFd;
        // The grandchild holds the pipe; it reads end of file when the last writer is gone.
        let (mut reader, writer) = io::pipe().unwrap();
        rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).unwrap();
        // By its path: a shell may take numbers of one digit only.
        let hold = format!("{{ echo started; exec sleep 1000; }} >/dev/fd/{} & wait", writer.as_raw_fd());
        runtime().block_on(async {
            let started = tokio::task::spawn_blocking(move || {
                let mut word = [0; 8];
                reader.read_exact(&mut word).map(|()| (reader, word))
            });
            let (mut reader, word) = tokio::select! {
                _ = run(shell(&hold)) => panic!("it cannot end"),
                started = started => started.unwrap().unwrap(),
            };
            assert_eq!(&word, b"started\n");
            drop(writer);
            let mut rest = Vec::new();
            reader.read_to_end(&mut rest).unwrap();
            assert!(rest.is_empty());
        });
    }

    #[test]
    fn what_a_wrapper_leaves_behind_is_not_waited_for() {
        // It holds both pipes for longer than any test runs.
        let outcome = runtime().block_on(run(shell("sleep 1000 & printf object; echo $! >&2"))).unwrap();
        assert_eq!((outcome.stdout.as_slice(), outcome.status.code()), (&b"object"[..], Some(0)));
        let left_behind: i32 = String::from_utf8(outcome.stderr).unwrap().trim().parse().unwrap();
        // It runs on: it may be a server that others use.
        rustix::process::kill_process(rustix::process::Pid::from_raw(left_behind).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn all_that_a_compiler_wrote_before_its_end_is_there() {
        let script = "sleep 1000 & printf '%s ' $!; head -c 3000000 /dev/zero";
        let outcome = runtime().block_on(run(shell(script))).unwrap();
        let at = outcome.stdout.iter().position(|byte| *byte == b' ').unwrap();
        assert_eq!(outcome.stdout.len(), at + 1 + 3_000_000);
        let left_behind: i32 = std::str::from_utf8(&outcome.stdout[..at]).unwrap().parse().unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(left_behind).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn a_compiler_that_closes_its_pipes_is_waited_for() {
        let outcome = runtime().block_on(run(shell("printf object; exec >&- 2>&-; sleep 0.2; exit 4"))).unwrap();
        assert_eq!((outcome.stdout.as_slice(), outcome.status.code()), (&b"object"[..], Some(4)));
    }

    #[test]
    fn a_start_without_room_is_tried_again_and_another_fault_is_not() {
        let attempts = |faults: &[Errno]| {
            let mut faults = faults.iter();
            let result = runtime().block_on(when_there_is_room(|| match faults.next() {
                Some(errno) => Err(io::Error::from(*errno)),
                None => Ok(()),
            }));
            result.map_err(|error| error.kind())
        };
        assert_eq!(attempts(&[Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM]), Ok(()));
        assert_eq!(attempts(&[Errno::MFILE, Errno::ACCESS]), Err(io::ErrorKind::PermissionDenied));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let compile = Compile { command: vec!["/nowhere/clang".into()], stdin: None, writes_files: false };
        assert_eq!(runtime().block_on(run(compile)).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
