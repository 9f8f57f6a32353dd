//! TCP connections by name: each name is resolved once in a link.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

use super::failure;
use crate::backend::Failure;
use crate::schedule::Fault;

/// How long resolving a name, or one address, may take. What stock distcc allows for a connection.
const CONNECT: Duration = Duration::from_secs(4);

/// A name's addresses, the one that worked last first; empty before the first resolution and after a failure.
type Addresses = Arc<Mutex<Vec<SocketAddr>>>;

/// Names that are resolved at the same time. Each takes a thread, of which verifying and writing need some too.
const LOOKUPS: usize = 32;

/// What is known of the hosts' names.
#[derive(Debug)]
pub(super) struct Names {
    known: Mutex<HashMap<(String, u16), Addresses>>,
    lookups: Arc<Semaphore>,
}

impl Default for Names {
    fn default() -> Self {
        Self { known: Mutex::default(), lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }
}

impl Names {
    /// A connection to the first address that accepts one, before `by`.
    pub(super) async fn connect(&self, host: &str, port: u16, by: Instant) -> Result<TcpStream, Failure> {
        let known = Arc::clone(self.known.lock().await.entry((host.to_owned(), port)).or_default());
        let addresses = self.resolve(&known, host, port, by).await?;
        let mut last = Failure::new(Fault::Unreachable, "the name has no address");
        for (index, address) in addresses.iter().enumerate() {
            // One address that swallows everything must leave time for the next, however short the deadline is.
            let left = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            let within = CONNECT.min(by.saturating_duration_since(Instant::now()) / left);
            last = match timeout(within, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    prefer(&known, *address).await;
                    return Ok(stream);
                }
                Ok(Err(error)) => failure(&format!("no connection to {address}"), &error),
                Err(_) => Failure::new(
                    Fault::Unreachable,
                    format!("no connection to {address} within {:.1} s", within.as_secs_f64()),
                ),
            };
            if last.fault == Fault::Local {
                return Err(last);
            }
        }
        // The host may have moved.
        known.lock().await.clear();
        Err(last)
    }

    /// The name's addresses. Connections that need them at the same time wait for one resolution.
    async fn resolve(&self, known: &Addresses, host: &str, port: u16, by: Instant) -> Result<Vec<SocketAddr>, Failure> {
        let started = Instant::now();
        let asked = timeout_at(by, async {
            let mut known = known.lock().await;
            if known.is_empty() {
                known.extend(self.look_up(host, port).await?);
            }
            Ok::<_, io::Error>(known.clone())
        });
        match asked.await {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) if error.kind() != io::ErrorKind::TimedOut => {
                Err(failure("the name cannot be resolved", &error))
            }
            _ => {
                let reason = format!("the name was not resolved within {:.1} s", started.elapsed().as_secs_f64());
                Err(Failure::new(Fault::Unreachable, reason))
            }
        }
    }

    async fn look_up(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let turn = Arc::clone(&self.lookups).acquire_owned().await.map_err(io::Error::other)?;
        let name = host.to_owned();
        // The thread cannot be called back: it keeps its turn until the resolver answers, wanted or not.
        let asked = spawn_blocking(move || {
            let _turn = turn;
            (name.as_str(), port).to_socket_addrs().map(Vec::from_iter)
        });
        timeout(CONNECT, asked).await.map_err(io::Error::from)?.map_err(io::Error::other)?
    }
}

/// The next connection tries this address first.
async fn prefer(known: &Addresses, address: SocketAddr) {
    let mut known = known.lock().await;
    if let Some(place) = known.iter().position(|other| *other == address) {
        known.swap(0, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + CONNECT
    }

    async fn listener() -> (tokio::net::TcpListener, SocketAddr) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// What is known of a name that no resolver knows.
    async fn known(names: &Names, addresses: &[SocketAddr]) -> Addresses {
        let known = Arc::new(Mutex::new(addresses.to_vec()));
        names.known.lock().await.insert(("no.such.host.invalid".to_owned(), 1), Arc::clone(&known));
        known
    }

    #[tokio::test]
    async fn a_name_is_not_resolved_again_and_the_address_that_worked_comes_first() {
        let names = Names::default();
        let (closed, dead) = listener().await;
        drop(closed);
        let (_open, good) = listener().await;
        let known = known(&names, &[dead, good]).await;
        let stream = names.connect("no.such.host.invalid", 1, soon()).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        assert_eq!(*known.lock().await, [good, dead]);
    }

    #[tokio::test]
    async fn after_a_failure_the_name_is_resolved_anew() {
        let names = Names::default();
        let (closed, dead) = listener().await;
        drop(closed);
        let known = known(&names, &[dead]).await;
        let failure = names.connect("no.such.host.invalid", 1, soon()).await.unwrap_err();
        assert_eq!(failure.fault, Fault::Unreachable);
        assert!(failure.reason.contains("refused") && !failure.reason.contains("os error"), "{}", failure.reason);
        assert!(known.lock().await.is_empty());
    }

    #[tokio::test]
    async fn an_address_that_swallows_everything_leaves_time_for_the_next() {
        let names = Names::default();
        let (_queue, silent) = full_queue();
        let (_open, good) = listener().await;
        let known = known(&names, &[silent, good]).await;
        let by = Instant::now() + Duration::from_millis(600);
        assert_eq!(names.connect("no.such.host.invalid", 1, by).await.unwrap().peer_addr().unwrap(), good);
        known.lock().await.truncate(0);
        known.lock().await.push(silent);
        let failure = names.connect("no.such.host.invalid", 1, Instant::now() + CONNECT / 8).await.unwrap_err();
        assert_eq!(failure.fault, Fault::Unreachable);
        assert!(failure.reason.contains("within 0."), "connecting ends with the deadline: {}", failure.reason);
    }

    /// A listener that answers no further connection: its queue is full.
    fn full_queue() -> (Vec<socket2::Socket>, SocketAddr) {
        use socket2::{Domain, Socket, Type};
        let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let listener = socket();
        listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let mut sockets = vec![listener];
        for _ in 0..4 {
            let client = socket();
            client.set_nonblocking(true).unwrap();
            let _ = client.connect(&address);
            sockets.push(client);
        }
        (sockets, address.as_socket().unwrap())
    }
}
