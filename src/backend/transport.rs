//! A byte stream to a volunteer: TCP, or the standard input and output of an ssh process.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::{Child, ChildStderr};
use tokio::time::{Instant, sleep_until, timeout};

use super::Failure;
use crate::fleet::{Address, SshAddress};
use crate::schedule::Fault;

/// How long one address may take to accept a connection. What stock distcc allows.
const CONNECT: Duration = Duration::from_secs(4);

/// Data that no one acknowledges for this long ends the connection (TCP_USER_TIMEOUT), and an idle peer is asked for a
/// sign of life after as long: a host that lost power is noticed well before a long compile's deadline.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause between the starts of two ssh connections. sshd begins to drop connections when more than ten are not
/// logged in yet (`MaxStartups 10:30:100`).
const SSH_STAGGER: Duration = Duration::from_millis(60);

/// What of ssh's own messages is kept for the report.
const SSH_WORDS: usize = 4096;

/// An open stream. Dropping it closes it, which is how a distcc job is cancelled.
pub(super) enum Transport {
    Tcp(TcpStream),
    Ssh { stream: UnixStream, child: Box<Child> },
}

/// Opens streams: keeps what connections of one link share.
#[derive(Debug, Default)]
pub(super) struct Dialer {
    ssh_command: Vec<String>,
    next_ssh: tokio::sync::Mutex<Option<Instant>>,
}

impl Dialer {
    /// `ssh_command`: the program and its first arguments.
    pub(super) fn new(ssh_command: Vec<String>) -> Self {
        Self { ssh_command, next_ssh: tokio::sync::Mutex::default() }
    }

    pub(super) async fn connect(&self, address: &Address) -> Result<Transport, Failure> {
        match address {
            Address::Tcp { host, port } => tcp(host, *port).await.map(Transport::Tcp),
            Address::Ssh(ssh) => self.ssh(ssh).await,
        }
    }

    async fn ssh(&self, address: &SshAddress) -> Result<Transport, Failure> {
        self.stagger().await;
        let unreachable = |what: &str, error: io::Error| Failure::new(Fault::Unreachable, format!("{what}: {error}"));
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(|e| unreachable("socket pair", e))?;
        let output = theirs.try_clone().map_err(|e| unreachable("socket pair", e))?;
        ours.set_nonblocking(true).map_err(|e| unreachable("socket pair", e))?;
        let stream = UnixStream::from_std(ours).map_err(|e| unreachable("socket pair", e))?;
        let (program, first) = self.ssh_command.split_first().map_or(("ssh", &[][..]), |(p, rest)| (p.as_str(), rest));
        let mut command = tokio::process::Command::new(program);
        command.args(first);
        if let Some(user) = &address.user {
            command.args(["-l", user]);
        }
        command.arg(&address.host).arg(&address.command).args(["--inetd", "--enable-tcp-insecure"]);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::from(OwnedFd::from(output)));
        command.stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        let child = command.spawn().map_err(|e| unreachable(&format!("cannot start {program}"), e))?;
        Ok(Transport::Ssh { stream, child: Box::new(child) })
    }

    /// Waits for this connection's turn.
    async fn stagger(&self) {
        let turn = {
            let mut next = self.next_ssh.lock().await;
            let turn = next.unwrap_or_else(Instant::now).max(Instant::now());
            *next = Some(turn + SSH_STAGGER);
            turn
        };
        sleep_until(turn).await;
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, Failure> {
    let unreachable = |reason: String| Failure::new(Fault::Unreachable, reason);
    let addresses = match timeout(CONNECT, tokio::net::lookup_host((host, port))).await {
        Err(_) => return Err(unreachable(format!("the name was not resolved within {} s", CONNECT.as_secs()))),
        Ok(Err(error)) => return Err(unreachable(format!("the name cannot be resolved: {error}"))),
        Ok(Ok(addresses)) => addresses,
    };
    let mut last = "the name has no address".to_owned();
    for address in addresses {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Err(_) => last = format!("no connection to {address} within {} s", CONNECT.as_secs()),
            Ok(Err(error)) => last = format!("no connection to {address}: {}", words(&error)),
            Ok(Ok(stream)) => {
                tune(&stream).map_err(|error| unreachable(format!("socket options: {error}")))?;
                return Ok(stream);
            }
        }
    }
    Err(unreachable(last))
}

fn tune(stream: &TcpStream) -> io::Result<()> {
    let socket = socket2::SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_user_timeout(Some(PEER_TIMEOUT))?;
    socket.set_tcp_keepalive(
        &socket2::TcpKeepalive::new().with_time(PEER_TIMEOUT).with_interval(PEER_TIMEOUT / 5).with_retries(4),
    )
}

/// An IO error without the number that only programmers read.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

impl Transport {
    /// What ssh said and how it ended, when the stream ended early: the reason is usually there.
    pub(super) async fn last_words(&mut self, within: Duration) -> Option<String> {
        let Self::Ssh { child, .. } = self else { return None };
        let stderr = child.stderr.take()?;
        timeout(within, last_line(stderr)).await.ok().flatten()
    }
}

async fn last_line(stderr: ChildStderr) -> Option<String> {
    let mut text = Vec::new();
    stderr.take(SSH_WORDS as u64).read_to_end(&mut text).await.ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Ssh { stream, .. } => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Ssh { stream, .. } => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Ssh { stream, .. } => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A half-closed connection means "client gone" to distccd; the stream ends by being dropped.
        Poll::Ready(Ok(()))
    }
}
