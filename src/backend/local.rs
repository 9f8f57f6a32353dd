//! A backend compile on this machine.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// Largest object taken from a local compiler's standard output: far above any module's, far below memory.
const MAX_OBJECT: u64 = 4 << 30;

/// What is kept of a compiler's messages; the rest is read and thrown away.
const MAX_WORDS: u64 = 16 << 20;

/// Tells a compiler, and distcc should it be one, that it was started by a distributor: nobody distributes twice.
const SAFEGUARD: &str = "_DISTCC_SAFEGUARD";

/// A compiler to start.
#[derive(Clone, Debug)]
pub struct Compile {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// What it finds on its standard input; `None`: nothing.
    pub stdin: Option<Bytes>,
    /// It writes files: when it has to be ended it may remove what is half done.
    pub writes_files: bool,
}

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
/// # Errors
/// It cannot be started, or its output cannot be read.
pub async fn run(compile: Compile) -> io::Result<Outcome> {
    let start = Instant::now();
    let (program, arguments) = compile
        .command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no compiler named"))?;
    let stdin = if compile.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
    let child = Command::new(program)
        .args(arguments)
        .env(SAFEGUARD, "1")
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let mut group = Group { child, last_signal: if compile.writes_files { Signal::TERM } else { Signal::KILL } };
    let stdin = group.child.stdin.take();
    let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
    let (feed, stdout, stderr) =
        tokio::join!(feed(stdin, compile.stdin), read(stdout, MAX_OBJECT), read(stderr, MAX_WORDS));
    // A compiler that ends without reading its input has its own words for that; its status decides.
    drop(feed);
    let (stdout, stderr) = (stdout?, stderr?);
    let status = group.child.wait().await?;
    Ok(Outcome { status, stdout, stderr, took: start.elapsed() })
}

async fn feed(pipe: Option<tokio::process::ChildStdin>, bytes: Option<Bytes>) -> io::Result<()> {
    match (pipe, bytes) {
        (Some(mut pipe), Some(bytes)) => pipe.write_all(&bytes).await,
        _ => Ok(()),
    }
}

async fn read(pipe: Option<impl AsyncRead + Unpin>, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        (&mut pipe).take(cap).read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

/// A compiler in a process group of its own: a driver or a wrapper such as ccache starts others, and all go with it.
struct Group {
    child: Child,
    last_signal: Signal,
}

impl Drop for Group {
    fn drop(&mut self) {
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
        let hold = format!("{{ echo started; exec sleep 1000; }} >&{} & wait", writer.as_raw_fd());
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
    fn a_program_that_is_not_there_is_an_error() {
        let compile = Compile { command: vec!["/nowhere/clang".into()], stdin: None, writes_files: false };
        assert_eq!(runtime().block_on(run(compile)).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
