//! The standard input and output of an ssh process as a stream.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::fleet::SshAddress;

/// What is kept of ssh's own messages: the last of them.
const WORDS: usize = 4096;

/// The most characters of them that a reason shows.
const SHOWN: usize = 200;

/// How long ssh may take to end by itself once its stream is closed, when the job was given up.
const GRACE: Duration = Duration::from_secs(1);

/// The same after a whole answer. Longer, because with `ControlMaster auto` the first ssh stays for as long as other
/// connections go through it, and killing it would break theirs.
const GRACE_AFTER_ANSWER: Duration = Duration::from_secs(60);

/// A connection through ssh. Dropped, it closes the stream, and ssh gets some time to end.
pub(in crate::backend) struct Ssh {
    pub(super) stream: UnixStream,
    process: Option<Process>,
    words: Words,
    room: Option<OwnedSemaphorePermit>,
    answered: bool,
    endings: Arc<Endings>,
}

impl Ssh {
    /// Starts `program` and its first arguments, with `distccd` for a command.
    pub(super) fn start(
        program: &[String],
        address: &SshAddress,
        room: OwnedSemaphorePermit,
        endings: &Arc<Endings>,
    ) -> io::Result<Self> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let output = theirs.try_clone()?;
        ours.set_nonblocking(true)?;
        let stream = UnixStream::from_std(ours)?;
        let (program, first) = program.split_first().map_or(("ssh", &[][..]), |(p, rest)| (p.as_str(), rest));
        let mut command = Command::new(program);
        command.args(first);
        if let Some(user) = &address.user {
            command.args(["-l", user]);
        }
        command.arg(&address.host).arg(&address.command).args(["--inetd", "--enable-tcp-insecure"]);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::from(OwnedFd::from(output)));
        command.stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let words = Words { pipe: child.stderr.take(), last: Vec::new() };
        let (process, endings) = (Some(Process(child)), Arc::clone(endings));
        Ok(Self { stream, process, words, room: Some(room), answered: false, endings })
    }

    /// The whole answer is there: ssh has nothing more to do and ends by itself.
    pub(super) fn answered(&mut self) {
        self.answered = true;
    }

    /// What an ssh that failed said last. `None` when it did not fail, or not within this time, or said nothing.
    pub(super) async fn last_words(&mut self, within: Duration) -> Option<String> {
        let by = Instant::now() + within;
        let Process(child) = self.process.as_mut()?;
        let words = &mut self.words;
        let ended = async {
            tokio::select! {
                status = child.wait() => status,
                never = words.drain() => match never {},
            }
        };
        let status = timeout_at(by, ended).await.ok()?.ok()?;
        if status.success() {
            return None;
        }
        // A process that ssh left behind may hold the pipe open.
        let _ = timeout_at(by, words.read_to_end()).await;
        words.last_line()
    }

    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.words.poll_drain(cx);
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        // Without a runtime nothing can wait for it: it is killed by being dropped.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let Some(process) = self.process.take() else { return };
        let words = std::mem::take(&mut self.words);
        let grace = if self.answered { GRACE_AFTER_ANSWER } else { GRACE };
        self.endings.begin(&runtime, end(process, words, grace, self.room.take()));
    }
}

async fn end(mut process: Process, mut words: Words, grace: Duration, room: Option<OwnedSemaphorePermit>) {
    let waiting = async {
        tokio::select! {
            _ = process.0.wait() => {}
            never = words.drain() => match never {},
        }
    };
    let _ = timeout(grace, waiting).await;
    drop((process, room));
}

/// A process with a group of its own, which ends with it.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // There is a number only until the process was waited for, so it is nobody else's.
        let number = self.0.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = number {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// ssh processes whose connection is closed.
#[derive(Debug, Default)]
pub(super) struct Endings(Mutex<JoinSet<()>>);

impl Endings {
    fn begin(&self, runtime: &tokio::runtime::Handle, ending: impl Future<Output = ()> + Send + 'static) {
        let mut endings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while endings.try_join_next().is_some() {}
        endings.spawn_on(ending, runtime);
    }

    /// Waits a moment for all of them to end; those that do not are killed.
    pub(super) async fn wait(&self) {
        let mut endings = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = timeout(GRACE, async { while endings.join_next().await.is_some() {} }).await;
        endings.shutdown().await;
    }
}

/// ssh's standard error: read at all times, since ssh stops when nobody takes its words, and the last are kept.
#[derive(Debug, Default)]
struct Words {
    pipe: Option<ChildStderr>,
    last: Vec<u8>,
}

impl Words {
    /// Takes what there is. More wakes the task.
    fn poll_drain(&mut self, cx: &mut Context<'_>) {
        let mut space = [0; WORDS];
        while let Some(pipe) = &mut self.pipe {
            let mut buf = ReadBuf::new(&mut space);
            match Pin::new(pipe).poll_read(cx, &mut buf) {
                Poll::Pending => return,
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => self.keep(buf.filled()),
                Poll::Ready(_) => self.pipe = None,
            }
        }
    }

    /// Takes what comes for as long as something else goes on.
    async fn drain(&mut self) -> Infallible {
        self.read_to_end().await;
        pending().await
    }

    async fn read_to_end(&mut self) {
        poll_fn(|cx| {
            self.poll_drain(cx);
            if self.pipe.is_none() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.last.extend_from_slice(bytes);
        self.last.drain(..self.last.len().saturating_sub(WORDS));
    }

    fn last_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.last);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().take(SHOWN).collect())
    }
}

#[cfg(test)]
mod tests;
