//! Through the `iceccd` of this machine: one connection for each request.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thinbridge_protocol::icecream::{Message, UseCs, Version};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::member::{End, Member, Told};
use super::messages::{Phrases, local_begin};
use super::ticket::{LocalGrant, Ticket};
use super::wire::{Broken, Event, Wire};
use crate::backend::patience::Patience;
use crate::fleet::icecream::Way;

/// How long the daemon may take to accept a connection and greet, as stock clients allow.
const GREETING: Duration = Duration::from_secs(15);

/// The same for a compile of our own that waits for a slot: an `iceccd` that is well answers within milliseconds.
const GREETING_HERE: Duration = Duration::from_secs(2);

/// How old a request must be before it is withdrawn. A scheduler that has a slot answers at once, and of an answer that
/// crosses the withdrawal nobody learns: a host that was to get its environment then would wait for it until it is thrown
/// out of the cluster. A request of this age waits for a slot.
const MIN_AGE: Duration = Duration::from_millis(250);

/// How long a compile of ours waits for a slot before it goes on without.
const SLOT: Duration = Duration::from_secs(20);

/// A request at the local daemon: a connection that is there for it.
struct Request {
    /// Dropped, the request is withdrawn.
    _withdraw: oneshot::Sender<()>,
    id: u64,
    asked_at: Instant,
}

/// What a request came to.
struct Answered {
    id: u64,
    result: Result<Option<(UseCs, Wire<UnixStream>)>, Broken>,
}

struct Session<'a> {
    member: &'a mut Member,
    socket: PathBuf,
    way: &'a Way,
    requests: Vec<Request>,
    answers: JoinSet<Answered>,
    last: u64,
}

/// Does what the link wants until the daemon is gone or the link ends.
pub(super) async fn serve(member: &mut Member, socket: &Path, way: &Way) -> Result<End, End> {
    let own = member.own;
    // The first connection only shows that a daemon of icecream listens there.
    let greeted = member.meanwhile(greet(socket.to_owned(), own, GREETING)).await?;
    greeted.map_err(|broken| End::Lost(format!("{way}: {broken}")))?;
    let mut session =
        Session { member, socket: socket.to_owned(), way, requests: Vec::new(), answers: JoinSet::new(), last: 0 };
    while session.member.phrases.is_none() {
        let told = session.member.told().await;
        if let Told::End(end) = told {
            return Ok(end);
        }
    }
    session.member.has_joined(way);
    let (Ok(end) | Err(end)) = session.run().await;
    session.leave().await;
    Ok(end)
}

async fn greet(socket: PathBuf, own: Version, within: Duration) -> Result<Wire<UnixStream>, Broken> {
    let by = Instant::now() + within;
    let connected = timeout(within, UnixStream::connect(&socket)).await;
    let stream = connected.map_err(|_| Broken::Silent(within))?.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Broken::Lost(error),
        _ => error.into(),
    })?;
    let mut wire = Wire::new(stream, own);
    wire.greeted(by).await?;
    Ok(wire)
}

impl Session<'_> {
    async fn run(&mut self) -> Result<End, End> {
        loop {
            self.ask();
            let withdraw_at = self.withdraw(Instant::now());
            tokio::select! {
                biased;
                told = self.member.told() => match told {
                    Told::End(end) => return Ok(end),
                    // The daemon settles what is left of a job when its connection is closed.
                    Told::Noted | Told::Unused { .. } | Told::NotShipped { .. } | Told::Blacklist(_) => {}
                },
                Some(answered) = self.answers.join_next(), if !self.answers.is_empty() => {
                    if let Ok(answered) = answered {
                        self.answered(answered)?;
                    }
                }
                () = sleep_until(withdraw_at.unwrap_or_else(Instant::now)), if withdraw_at.is_some() => {}
            }
        }
    }

    fn ask(&mut self) {
        let Some(phrases) = self.member.phrases.clone() else { return };
        while self.requests.len() < self.member.wanted {
            self.last += 1;
            let id = self.last;
            let (withdraw, withdrawn) = oneshot::channel();
            let (socket, own, phrases) = (self.socket.clone(), self.member.own, Arc::clone(&phrases));
            self.requests.push(Request { _withdraw: withdraw, id, asked_at: Instant::now() });
            self.answers.spawn(async move { Answered { id, result: request(socket, own, &phrases, withdrawn).await } });
        }
    }

    /// Withdraws what is too much and old enough, the newest first: they wait at the end of the queue. Returns when there
    /// is more to withdraw.
    fn withdraw(&mut self, now: Instant) -> Option<Instant> {
        let mut surplus = self.requests.len().saturating_sub(self.member.wanted);
        let old_enough = |request: &Request| request.asked_at + MIN_AGE <= now;
        while surplus > 0
            && let Some(index) = self.requests.iter().rposition(old_enough)
        {
            self.requests.remove(index);
            surplus -= 1;
        }
        let next = self.requests.iter().map(|request| request.asked_at + MIN_AGE).min();
        next.filter(|_| surplus > 0)
    }

    fn answered(&mut self, answered: Answered) -> Result<(), End> {
        let waiting = self.requests.iter().position(|request| request.id == answered.id);
        if let Some(index) = waiting {
            self.requests.remove(index);
        }
        let (answer, wire) = match answered.result {
            Ok(Some(answer)) => answer,
            Ok(None) => return Ok(()),
            // One that was withdrawn has nothing to lose.
            Err(_) if waiting.is_none() => return Ok(()),
            Err(broken) => return Err(End::Lost(format!("{}: {broken}", self.way))),
        };
        if waiting.is_some() {
            self.member.answered();
        }
        let Some(phrases) = self.member.phrases.clone() else { return Ok(()) };
        if is_here(&answer) {
            let platform = phrases.kit.platform.clone();
            self.member.grant_here(LocalGrant::new(answer.job_id, platform, wire));
        } else {
            self.member.grant(&answer, Ticket::daemon(answer.job_id, wire), &phrases);
        }
        Ok(())
    }

    /// Withdraws everything. Jobs that are given to us meanwhile are given back.
    async fn leave(&mut self) {
        self.member.wanted = 0;
        while let Some(at) = self.withdraw(Instant::now()) {
            match timeout_at(at, self.answers.join_next()).await {
                Ok(Some(Ok(answered))) => drop(self.answered(answered)),
                Ok(Some(Err(_))) | Err(_) => {}
                Ok(None) => break,
            }
        }
        while let Some(answered) = self.answers.join_next().await {
            if let Ok(answered) = answered {
                drop(self.answered(answered));
            }
        }
    }
}

/// Whether the answer means: compile it yourself.
fn is_here(answer: &UseCs) -> bool {
    answer.host == Ipv4Addr::LOCALHOST || answer.port == 0
}

/// Asks, and waits for the answer for as long as the request is not withdrawn. `None`: it is.
async fn request(
    socket: PathBuf,
    own: Version,
    phrases: &Phrases,
    mut withdrawn: oneshot::Receiver<()>,
) -> Result<Option<(UseCs, Wire<UnixStream>)>, Broken> {
    let mut wire = tokio::select! {
        greeted = greet(socket, own, GREETING) => greeted?,
        _ = &mut withdrawn => return Ok(None),
    };
    // The daemon numbers the requests itself.
    wire.say(&phrases.request(0))?;
    loop {
        tokio::select! {
            // What has come already is an answer, withdrawn or not: a job that is ours has to be given back as one.
            biased;
            event = wire.event() => match event? {
                Event::Message(Message::UseCs(answer)) => return Ok(Some((answer, wire))),
                Event::Message(Message::End) => return Err(Broken::Closed),
                Event::Message(Message::StatusText(_)) | Event::Read(_) | Event::Wrote(_) | Event::Ready => {}
                Event::Message(other) => {
                    return Err(Broken::OutOfTurn(format!("{} in answer to a request", other.kind())));
                }
            },
            _ = &mut withdrawn => return Ok(None),
        }
    }
}

/// A local `iceccd`, whose slots our own compiles hold: it is somebody's volunteer too.
#[derive(Clone, Debug)]
pub struct LocalDaemon {
    socket: PathBuf,
    greets_within: Duration,
    /// It did not greet. One that hangs is waited for once in a link, not for each compile.
    hangs: Arc<AtomicBool>,
}

/// A slot of the local `iceccd`; free again when dropped.
#[derive(Debug)]
pub struct LocalHold {
    _wire: Wire<UnixStream>,
}

impl LocalDaemon {
    /// The one that listens at this socket.
    pub fn new(socket: PathBuf) -> Self {
        Self::with_patience(socket, GREETING_HERE)
    }

    pub(super) fn with_patience(socket: PathBuf, greets_within: Duration) -> Self {
        Self { socket, greets_within, hangs: Arc::default() }
    }

    /// Waits for a slot. `title`: what is compiled, for people who watch the cluster.
    ///
    /// # Errors
    /// No slot within 20 s, no daemon any more, or one that hangs; in words for people. Nobody has to wait for one: the caller goes on
    /// without.
    pub async fn hold(&self, title: &str) -> Result<LocalHold, String> {
        if self.hangs.load(Ordering::Relaxed) {
            return Err("the local iceccd hangs".to_owned());
        }
        let held = timeout(SLOT, self.slot(title)).await;
        let wire = held.map_err(|_| format!("no slot of the local iceccd within {} s", SLOT.as_secs()))?;
        Ok(LocalHold { _wire: wire.map_err(|broken| format!("the local iceccd: {broken}"))? })
    }

    async fn slot(&self, title: &str) -> Result<Wire<UnixStream>, Broken> {
        let greeted = greet(self.socket.clone(), Version::OURS, self.greets_within).await;
        self.hangs.fetch_or(matches!(greeted, Err(Broken::Silent(_))), Ordering::Relaxed);
        let mut wire = greeted?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        wire.say(&local_begin(u32::try_from(now).unwrap_or(u32::MAX), title))?;
        let mut patience = Patience::new(Instant::now(), SLOT);
        loop {
            match wire.message(&mut patience).await? {
                Message::JobLocalBegin(_) => return Ok(wire),
                Message::StatusText(_) => {}
                Message::End => return Err(Broken::Closed),
                other => return Err(Broken::OutOfTurn(format!("{} in answer to a local job", other.kind()))),
            }
        }
    }
}
