//! A peer that does as it is told, one behaviour for each connection.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::wire::Request;

/// What a scripted peer does with one connection.
#[derive(Clone)]
pub(crate) enum Behaviour {
    /// Accepts, reads what comes, and never answers. The connection stays open until the client closes it.
    Silent,
    /// Accepts and does not even read.
    Deaf,
    /// Closes at once, reading nothing: what a denied client sees.
    Close,
    /// Closes after it has read this many bytes of the request, unread bytes pending: a reset, mostly.
    CloseAfterReading(usize),
    /// Reads the whole request, sends these bytes, and closes.
    Answer(Vec<u8>),
    /// Reads the whole request, sends these bytes, and keeps the connection open in silence.
    AnswerAndHold(Vec<u8>),
    /// Reads the whole request, then sends these bytes one at a time, and closes.
    Trickle(Vec<u8>),
}

/// Chooses the behaviour for a request: the connection's number (from 0) and what was asked (`None` before the request
/// was read: a choice that is `None` then, is asked again with the request).
pub(crate) type Script = dyn Fn(usize, Option<&Request>) -> Option<Behaviour> + Send + Sync;

/// A listening peer on loopback; it ends when dropped, with all its connections.
pub(crate) struct Scripted {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    ending: AtomicBool,
    accepted: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
}

impl Scripted {
    /// A peer that does the same with every connection.
    pub(crate) fn always(behaviour: Behaviour) -> Self {
        let early = !matches!(behaviour, Behaviour::Answer(_) | Behaviour::AnswerAndHold(_) | Behaviour::Trickle(_));
        Self::start(move |_, request| (early || request.is_some()).then(|| behaviour.clone()))
    }

    /// A peer that answers each request as `script` says.
    pub(crate) fn start(script: impl Fn(usize, Option<&Request>) -> Option<Behaviour> + Send + Sync + 'static) -> Self {
        let script: Arc<Script> = Arc::new(script);
        Self::serve(move |number, stream| perform(&*script, number, stream))
    }

    /// A peer that hands each connection, with its number, to a function of its own thread.
    pub(crate) fn serve(handler: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> Self {
        Self::serve_at(Ipv4Addr::LOCALHOST, handler)
    }

    /// The same at another of this machine's addresses.
    pub(crate) fn serve_at(address: Ipv4Addr, handler: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((address, 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared::default());
        let handler = Arc::new(handler);
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                while let Ok((stream, _)) = listener.accept() {
                    if shared.ending.load(Ordering::Acquire) {
                        return;
                    }
                    let number = shared.accepted.fetch_add(1, Ordering::AcqRel);
                    // A second handle, so that the end of the peer can end the connection.
                    shared.open.lock().expect("no holder panics").extend(stream.try_clone());
                    let handler = Arc::clone(&handler);
                    std::thread::spawn(move || handler(number, stream));
                }
            }
        });
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its `address:port`, as reports name it.
    pub(crate) fn name(&self) -> String {
        self.address.to_string()
    }

    /// Its entry in a host list.
    pub(crate) fn host(&self) -> String {
        format!("{}/2", self.address)
    }

    /// How many connections it has accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::Acquire)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Release);
        // Wakes the acceptor.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for stream in self.shared.open.lock().expect("no holder panics").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn perform(script: &Script, number: usize, mut stream: TcpStream) {
    let behaviour = match script(number, None) {
        Some(behaviour) => behaviour,
        None => match Request::read(&stream) {
            Ok(request) => script(number, Some(&request)).unwrap_or(Behaviour::Close),
            Err(_) => return end(stream),
        },
    };
    match behaviour {
        Behaviour::Silent => wait_for_client(stream),
        Behaviour::Deaf => hold_unread(stream),
        Behaviour::Close => end(stream),
        Behaviour::CloseAfterReading(count) => {
            let mut read = vec![0; count];
            let _ = stream.read_exact(&mut read);
            end(stream);
        }
        Behaviour::Answer(bytes) => {
            let _ = stream.write_all(&bytes);
            end(stream);
        }
        Behaviour::AnswerAndHold(bytes) => {
            let _ = stream.write_all(&bytes);
            wait_for_client(stream);
        }
        Behaviour::Trickle(bytes) => {
            let _ = stream.set_nodelay(true);
            for byte in bytes {
                if stream.write_all(&[byte]).is_err() {
                    break;
                }
            }
            end(stream);
        }
    }
}

/// Ends the connection although the peer holds a second handle of it.
pub(crate) fn end(stream: TcpStream) {
    let _ = stream.shutdown(Shutdown::Both);
}

/// Reads and forgets until the client or the peer itself ends the connection.
pub(crate) fn wait_for_client(mut stream: TcpStream) {
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// Leaves every byte unread; `peek` returns once there are some, so the thread parks until the peer ends.
fn hold_unread(stream: TcpStream) {
    // The second handle keeps the connection open; nothing is left to do here.
    drop(stream);
}

/// A loopback port at which nobody listens.
pub(crate) fn refused_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}
