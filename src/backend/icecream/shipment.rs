//! Sending the environment to a host that lacks it.
//!
//! A scheduler that names such a host gives it no other job until the host says what came of the transfer, and throws it
//! out of the cluster after two minutes. So an environment is on its way as soon as the host is named, whether the job is
//! wanted or not: that is nothing a grant's holder decides. A transfer that breaks off is one, too: the host notices and
//! says so. (All seen with icecream 1.4.)

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use thinbridge_protocol::icecream::limits::CHUNK_LEN;
use thinbridge_protocol::icecream::{Algorithm, Message, Version, pack_file};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, RwLock, RwLockReadGuard, Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

use super::Shipment;
use super::messages::Phrases;
use super::server::{connect, told};
use super::ticket::Ticket;
use super::wire::{Broken, Wire};
use crate::backend::Failure;
use crate::backend::patience::Patience;
use crate::schedule::Fault;

/// Environments on their way at once, of one link: each takes what the network gives.
const AT_ONCE: usize = 2;

/// A shipment that waits for others to arrive begins after this time at the latest: half of what the scheduler allows.
const LATEST_START: Duration = Duration::from_secs(60);

/// How long the host may take nothing.
const STALL: Duration = Duration::from_secs(24);

/// From the grant to the end of the transfer at the most: ten seconds less than what the scheduler allows. A host that
/// hears that a transfer has broken off tells the scheduler, and is not thrown out.
const ALL: Duration = Duration::from_secs(110);

/// How long the host may take to unpack the environment and try it, as stock clients allow.
const VERIFICATION: Duration = Duration::from_secs(60);

/// Pieces of the archive that are read at a time.
const PIECE: usize = 2 * CHUNK_LEN;

/// The first version in which a host can be asked to try an environment.
const VERIFIES: u32 = 31;

/// What the shipments of a link share.
#[derive(Debug)]
pub(super) struct Docks {
    free: Semaphore,
    hosts: std::sync::Mutex<HashMap<SocketAddrV4, Arc<Berth>>>,
    /// The link ends: transfers have to begin, for the scheduler's sake, and to break off.
    leaving: AtomicBool,
}

/// A host, as shipments and jobs of this link meet there.
#[derive(Debug, Default)]
pub(super) struct Berth {
    /// Held by a shipment.
    shipping: Mutex<()>,
    /// Shipments that have arrived.
    arrivals: AtomicUsize,
    /// Held by each job there, and alone by a shipment: iceccd deletes the environment at the end of each job that finds
    /// it incomplete, and with it a new one that is just arriving.
    jobs: RwLock<()>,
}

impl Berth {
    /// How many shipments have arrived.
    pub(super) fn arrivals(&self) -> usize {
        self.arrivals.load(Ordering::Relaxed)
    }

    /// A job begins there: no shipment does while the answer is held. Waits for one that is under way, for `limit` at most.
    pub(super) async fn job(&self, limit: Duration) -> Result<RwLockReadGuard<'_, ()>, Failure> {
        let waited = timeout(limit, self.jobs.read()).await;
        waited.map_err(|_| Failure::new(Fault::EnvironmentGone, "it is being sent its environment anew"))
    }
}

impl Docks {
    pub(super) fn new() -> Self {
        Self { free: Semaphore::new(AT_ONCE), hosts: Default::default(), leaving: AtomicBool::new(false) }
    }

    pub(super) fn host(&self, host: SocketAddrV4) -> Arc<Berth> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(hosts.entry(host).or_default())
    }

    /// The link ends.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
        self.free.close();
    }

    fn leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }
}

/// A host whose environment is on its way, as its grant sees it.
pub(super) type Coming = oneshot::Receiver<Result<(Wire<TcpStream>, Ticket), Failure>>;

/// What is to be sent, and to whom its arrival is told.
pub(super) struct Consignment {
    pub(super) host: SocketAddrV4,
    pub(super) ticket: Ticket,
    pub(super) granted_at: Instant,
    pub(super) own: Version,
    pub(super) phrases: Arc<Phrases>,
    pub(super) docks: Arc<Docks>,
    pub(super) berth: Arc<Berth>,
    /// Shipments that had arrived there when the host was named.
    pub(super) arrivals: usize,
    pub(super) to: oneshot::Sender<Result<(Wire<TcpStream>, Ticket), Failure>>,
}

/// Sends the environment and has it tried. Whatever comes of it is told to the grant; without one any more the job is
/// given back.
pub(super) async fn ship(consignment: Consignment) -> Shipment {
    let Consignment { host, mut ticket, granted_at, own, phrases, docks, berth, arrivals, to } = consignment;
    let (mut bytes, mut began) = (0, false);
    let order = Order { host, own, granted_at, phrases: &phrases, docks: &docks, berth: &berth };
    let sent = order.fill(arrivals, &mut bytes, &mut began).await;
    let result = sent.as_ref().map(|_| ()).map_err(|failure| failure.reason.clone());
    let shipment = Shipment { host, bytes, took: granted_at.elapsed(), result };
    let told = match sent {
        Ok(wire) => Ok((wire, ticket)),
        Err(failure) => {
            if failure.fault == Fault::Incompatible {
                ticket.blacklist(*host.ip(), &phrases.blacklist(*host.ip())).await;
            }
            if !began {
                ticket.not_shipped(*host.ip());
            }
            Err(failure)
        }
    };
    // Without a receiver the connection is closed and the job given back.
    let _ = to.send(told);
    shipment
}

/// What is to be sent, in one place.
struct Order<'a> {
    host: SocketAddrV4,
    own: Version,
    granted_at: Instant,
    phrases: &'a Phrases,
    docks: &'a Docks,
    berth: &'a Berth,
}

impl Order<'_> {
    /// A scheduler whose connection was lost names a host again whose environment is on its way still. A second one of
    /// the same name would make the host throw both away.
    async fn fill(&self, arrivals: usize, bytes: &mut u64, began: &mut bool) -> Result<Wire<TcpStream>, Failure> {
        let shipping = timeout_at(self.by(), self.berth.shipping.lock()).await.map_err(|_| too_late())?;
        if self.berth.arrivals() != arrivals {
            drop(shipping);
            *began = true;
            return connect(self.host, self.own, Instant::now() + STALL).await;
        }
        // One that has waited too long goes on without, and so do all when the link ends.
        let latest = self.granted_at + LATEST_START;
        let _alone = timeout_at(latest, self.berth.jobs.write()).await;
        let _dock = timeout_at(latest, self.docks.free.acquire()).await;
        let wire = self.send(bytes, began).await?;
        self.berth.arrivals.fetch_add(1, Ordering::Relaxed);
        Ok(wire)
    }

    /// When the transfer has to be over.
    fn by(&self) -> Instant {
        self.granted_at + ALL
    }

    async fn send(&self, bytes: &mut u64, began: &mut bool) -> Result<Wire<TcpStream>, Failure> {
        let transfer = timeout_at(self.by(), self.transfer(bytes, began)).await;
        let mut wire = transfer.map_err(|_| too_late())??;
        if wire.version().number() >= VERIFIES {
            say(&mut wire, &self.phrases.verify())?;
            verified(&mut wire).await?;
        }
        Ok(wire)
    }

    /// Sends the archive piece by piece: it is large, and several may be on their way.
    async fn transfer(&self, bytes: &mut u64, began: &mut bool) -> Result<Wire<TcpStream>, Failure> {
        let mut wire = connect(self.host, self.own, Instant::now() + STALL).await?;
        let mut patience = Patience::new(Instant::now(), STALL);
        say(&mut wire, &self.phrases.transfer())?;
        deliver(&mut wire, &mut patience).await?;
        *began = true;
        let algorithm = Algorithm::of(wire.version());
        let mut at = 0;
        loop {
            let (frames, length) = self.piece(at, algorithm).await?;
            at += length;
            if length == 0 {
                say(&mut wire, &Message::End)?;
            }
            *bytes = frames.iter().fold(*bytes, |sum, frame| sum.saturating_add(frame.len() as u64));
            wire.send(frames);
            deliver(&mut wire, &mut patience).await?;
            if length == 0 {
                return Ok(wire);
            }
            if self.docks.leaving() {
                return Err(Failure::new(Fault::Local, "the link has ended"));
            }
        }
    }

    /// The frames of the piece that begins at `at`, and its length.
    async fn piece(&self, at: u64, algorithm: Algorithm) -> Result<(Vec<Bytes>, u64), Failure> {
        let archive = Arc::clone(&self.phrases.kit.archive);
        let packed = spawn_blocking(move || {
            let piece = archive.piece(at, PIECE)?;
            Ok((pack_file(&piece, algorithm), piece.len() as u64))
        });
        let packed = packed.await.unwrap_or_else(|_| Err("the environment could not be packed".to_owned()));
        packed.map_err(|reason| Failure::new(Fault::Local, reason))
    }
}

fn too_late() -> Failure {
    Failure::new(Fault::Slow, format!("the environment did not arrive within {} s", ALL.as_secs()))
}

/// Waits until what there is to say has left. A host that takes an environment says nothing meanwhile.
async fn deliver(wire: &mut Wire<TcpStream>, patience: &mut Patience) -> Result<(), Failure> {
    match wire.flush(patience).await.map_err(interrupted)? {
        Some(complaint) => Err(refused(&complaint)),
        None => Ok(()),
    }
}

async fn verified(wire: &mut Wire<TcpStream>) -> Result<(), Failure> {
    let mut patience = Patience::new(Instant::now(), VERIFICATION);
    let mut words = String::new();
    loop {
        match wire.message(&mut patience).await.map_err(interrupted)? {
            Message::StatusText(text) => words = format!(": {}", told(&text.to_string())),
            Message::VerifyEnvResult { ok: true } => return Ok(()),
            Message::VerifyEnvResult { ok: false } => {
                return Err(Failure::new(Fault::Incompatible, format!("the environment does not work there{words}")));
            }
            other => return Err(refused(&other)),
        }
    }
}

fn say(wire: &mut Wire<TcpStream>, message: &Message) -> Result<(), Failure> {
    wire.say(message).map_err(|broken| broken.failure())
}

fn interrupted(broken: Broken) -> Failure {
    let failure = broken.failure();
    Failure { reason: format!("the environment did not arrive: {}", failure.reason), ..failure }
}

fn refused(message: &Message) -> Failure {
    match message {
        Message::StatusText(text) => {
            Failure::new(Fault::Refused, format!("it does not take the environment: {}", told(&text.to_string())))
        }
        other => Broken::OutOfTurn(format!("{} in answer to an environment", other.kind())).failure(),
    }
}
