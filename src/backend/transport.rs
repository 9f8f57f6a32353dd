//! A byte stream to a volunteer: TCP, or the standard input and output of an ssh process.

mod names;
mod ssh;

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::Failure;
use crate::fleet::Address;
use crate::schedule::Fault;
use crate::words;
use names::Names;
use ssh::{Endings, Ssh};

/// An idle peer is asked for a sign of life after as long: a host that lost power is noticed well before a long
/// compile's deadline. (Data that is not acknowledged is bounded by our own deadline alone: TCP_USER_TIMEOUT would also
/// end the connection to a host that lets a large request wait until it has a free slot.)
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Pause between the starts of two ssh connections to one host. sshd begins to drop connections when more than ten are
/// not logged in yet (`MaxStartups 10:30:100`).
const SSH_STAGGER: Duration = Duration::from_millis(60);

/// Descriptors that connections leave to all else: our own files, and some compilers that run here.
const DESCRIPTORS_KEPT: u64 = 192;

/// An open stream. Dropping it closes it, which is how a distcc job is cancelled.
pub(super) enum Transport {
    Tcp { stream: TcpStream, _room: OwnedSemaphorePermit },
    Ssh(Box<Ssh>),
}

/// Opens streams: keeps what connections of one link share.
#[derive(Debug)]
pub(super) struct Dialer {
    ssh_command: Vec<String>,
    names: Names,
    /// Descriptors that connections may have.
    room: Arc<Semaphore>,
    /// When the next ssh to a host may start.
    next_ssh: Mutex<HashMap<String, Instant>>,
    endings: Arc<Endings>,
}

/// The right to open a connection now.
#[derive(Debug)]
pub(super) struct Turn(OwnedSemaphorePermit);

impl Dialer {
    /// `ssh_command`: the program and its first arguments. The limit of open files is read here.
    pub(super) fn new(ssh_command: Vec<String>) -> Self {
        Self::with_room(ssh_command, room(getrlimit(Resource::Nofile).current))
    }

    fn with_room(ssh_command: Vec<String>, room: usize) -> Self {
        Self {
            ssh_command,
            names: Names::default(),
            room: Arc::new(Semaphore::new(room)),
            next_ssh: Mutex::default(),
            endings: Arc::default(),
        }
    }

    /// Waits until a connection to this address may be opened. That is our own matter and no host's, so a host's
    /// deadline begins after it.
    pub(super) async fn turn(&self, address: &Address, within: Duration) -> Result<Turn, Failure> {
        let room = Arc::clone(&self.room).acquire_many_owned(descriptors(address));
        let Ok(Ok(room)) = timeout(within, room).await else {
            return Err(Failure::new(Fault::Local, "too few open files for one more connection (ulimit -n)"));
        };
        if let Address::Ssh(ssh) = address {
            self.stagger(&ssh.host).await;
        }
        Ok(Turn(room))
    }

    /// Opens a connection before `by`.
    pub(super) async fn connect(&self, address: &Address, turn: Turn, by: Instant) -> Result<Transport, Failure> {
        let Turn(room) = turn;
        match address {
            Address::Tcp { host, port } => {
                let stream = self.names.connect(host, *port, by).await?;
                tune(&stream).map_err(|error| failure("socket options", &error))?;
                Ok(Transport::Tcp { stream, _room: room })
            }
            Address::Ssh(address) => {
                let program = self.ssh_command.first().map_or("ssh", String::as_str);
                let cannot_start = |error| failure(&format!("cannot start {program}"), &error);
                Ssh::start(&self.ssh_command, address, room, &self.endings)
                    .map(|ssh| Transport::Ssh(Box::new(ssh)))
                    .map_err(cannot_start)
            }
        }
    }

    /// Waits a moment for ssh processes whose connections are closed; those that do not end are killed.
    pub(super) async fn close(&self) {
        self.endings.wait().await;
    }

    /// Waits until an ssh to this host may start.
    async fn stagger(&self, host: &str) {
        let turn = {
            let now = Instant::now();
            let mut next_ssh = self.next_ssh.lock().await;
            let next = next_ssh.entry(host.to_owned()).or_insert(now);
            let turn = now.max(*next);
            *next = turn + SSH_STAGGER;
            turn
        };
        sleep_until(turn).await;
    }
}

/// What a connection costs: a socket, and with ssh also a pipe for its words and a process.
fn descriptors(address: &Address) -> u32 {
    match address {
        Address::Tcp { .. } => 1,
        Address::Ssh(_) => 3,
    }
}

/// How many descriptors connections may have under this limit: at least enough for one.
fn room(limit: Option<u64>) -> usize {
    let limit = limit.unwrap_or(u64::MAX);
    let room = limit - DESCRIPTORS_KEPT.min(limit / 2);
    usize::try_from(room).unwrap_or(usize::MAX).clamp(3, Semaphore::MAX_PERMITS)
}

/// A connection that could not be made: by the host's fault, or for want of something that this machine has run out of.
pub(super) fn failure(what: &str, error: &io::Error) -> Failure {
    let ours = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM, Errno::NOBUFS, Errno::ADDRNOTAVAIL];
    let ours = error.raw_os_error().is_some_and(|number| ours.iter().any(|errno| errno.raw_os_error() == number));
    Failure::new(if ours { Fault::Local } else { Fault::Unreachable }, format!("{what}: {}", words::plain(error)))
}

fn tune(stream: &TcpStream) -> io::Result<()> {
    let socket = socket2::SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(
        &socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 5).with_retries(4),
    )
}

impl Transport {
    /// The whole answer is there.
    pub(super) fn answered(&mut self) {
        if let Self::Ssh(ssh) = self {
            ssh.answered();
        }
    }

    /// What an ssh that failed said last: the reason is usually there.
    pub(super) async fn last_words(&mut self, within: Duration) -> Option<String> {
        match self {
            Self::Tcp { .. } => None,
            Self::Ssh(ssh) => ssh.last_words(within).await,
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp { stream, .. } => Pin::new(stream).poll_read(cx, buf),
            Self::Ssh(ssh) => ssh.poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp { stream, .. } => Pin::new(stream).poll_write(cx, buf),
            Self::Ssh(ssh) => Pin::new(&mut ssh.stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp { stream, .. } => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Ssh(ssh) => Pin::new(&mut ssh.stream).poll_write_vectored(cx, bufs),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::SshAddress;

    fn ssh(host: &str) -> Address {
        Address::Ssh(SshAddress { user: None, host: host.to_owned(), command: "distccd".to_owned() })
    }

    #[test]
    fn connections_leave_descriptors_to_compilers() {
        assert_eq!(room(Some(64)), 32);
        assert_eq!(room(Some(1024)), 832);
        assert_eq!(room(Some(0)), 3);
        assert_eq!(room(None), Semaphore::MAX_PERMITS);
    }

    #[tokio::test]
    async fn without_room_a_connection_waits_and_no_host_is_blamed() {
        let dialer = Dialer::with_room(Vec::new(), 3);
        let address = Address::Tcp { host: "a".to_owned(), port: 1 };
        let first = dialer.turn(&ssh("a"), Duration::ZERO).await.unwrap();
        assert_eq!(dialer.turn(&address, Duration::ZERO).await.unwrap_err().fault, Fault::Local);
        drop(first);
        dialer.turn(&address, Duration::ZERO).await.unwrap();
    }

    #[tokio::test]
    async fn ssh_connections_to_one_host_start_one_after_another() {
        let dialer = Dialer::with_room(Vec::new(), 100);
        let started = Instant::now();
        for _ in 0..4 {
            dialer.turn(&ssh("a"), Duration::ZERO).await.unwrap();
        }
        assert!(started.elapsed() >= SSH_STAGGER * 3);
        // Another host has a server of its own.
        let before = Instant::now();
        dialer.turn(&ssh("b"), Duration::ZERO).await.unwrap();
        let next_ssh = dialer.next_ssh.lock().await;
        assert!(next_ssh["b"] - SSH_STAGGER <= Instant::now() && next_ssh["b"] - SSH_STAGGER >= before);
    }

    #[test]
    fn what_this_machine_lacks_is_no_host_s_fault() {
        let fault = |errno: Errno| failure("no connection", &errno.into()).fault;
        assert_eq!(fault(Errno::MFILE), Fault::Local);
        assert_eq!(fault(Errno::AGAIN), Fault::Local);
        assert_eq!(fault(Errno::CONNREFUSED), Fault::Unreachable);
    }
}
