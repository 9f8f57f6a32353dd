//! The link as its own daemon: one that takes no jobs, on one connection to the scheduler.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use thinbridge_protocol::icecream::{Message, UseCs, Version, discovery};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, sleep, sleep_until};

use super::News;
use super::books::{Books, Request};
use super::member::{End, Member, Told};
use super::messages::{Phrases, login, unused, withdrawal};
use super::server::{CONNECT, dial};
use super::turn::{LOOK_AGAIN, May, Turn};
use super::wire::{Broken, Event, Wire};
use crate::backend::patience::Patience;
use crate::fleet::icecream::{Way, own_node_name, platform};
use crate::words::plain;

/// How long the scheduler's greeting may take. A stock one can leave a connection alone for 36 s after it has accepted
/// another.
const GREETING: Duration = Duration::from_secs(45);

/// A scheduler looks at new connections no sooner than a second after the last one came, and then not before something
/// wakes it, which a datagram does. When the last one came is not known here, so some datagrams come too early.
const NUDGE: Duration = Duration::from_millis(400);

/// How long the scheduler may take to answer the login.
const LOGIN: Duration = Duration::from_secs(10);

/// How long the scheduler may take to close the connection after our good-bye: then its books are clean.
const PARTING: Duration = Duration::from_millis(800);

/// How long answers are waited for before the connection is made anew.
const BEFORE_RENEWAL: Duration = Duration::from_millis(200);

/// Bytes that may wait for the scheduler to read them: some thousand messages. One that asks faster than it reads must not
/// fill our memory with answers.
const MAX_BACKLOG: usize = 1 << 20;

/// The first version in which a host can be named that an environment does not work on.
const BLACKLISTS: u32 = 31;

/// Our own connection to a scheduler.
struct Session<'a> {
    member: &'a mut Member,
    way: &'a Way,
    wire: Wire<TcpStream>,
    books: Books,
    turn: Turn,
    /// The cluster can be asked.
    ready: bool,
    /// When the connection is to be made anew.
    renew_at: Option<Instant>,
}

/// Logs in at the scheduler and does what the link wants until the connection ends, for whatever reason.
pub(super) async fn serve(member: &mut Member, address: SocketAddr, way: &Way) -> Result<End, End> {
    let SocketAddr::V4(v4) = address else { return Err(End::Over(format!("{way} is not an IPv4 address"))) };
    let own = member.own;
    let logged_in = member.meanwhile(log_in(v4, own)).await?;
    let wire = logged_in.map_err(|reason| End::Lost(format!("{way}: {reason}")))?;
    let turn = Turn::at(member.turns.as_deref(), address);
    let mut session = Session { member, way, wire, books: Books::default(), turn, ready: false, renew_at: None };
    let (Ok(end) | Err(end)) = session.run().await;
    if matches!(end, End::Closed | End::Renew) && session.wire.say(&Message::End).is_ok() {
        session.wire.part(PARTING).await;
    }
    Ok(end)
}

async fn log_in(address: SocketAddrV4, own: Version) -> Result<Wire<TcpStream>, String> {
    let stream = dial(address, CONNECT).await.map_err(|failure| failure.reason)?;
    let mut wire = Wire::new(stream, own);
    let greeted = tokio::select! {
        greeted = wire.greeted(Instant::now() + GREETING) => greeted,
        never = nudge(address, own) => match never {},
    };
    greeted.map_err(|broken| match broken {
        Broken::Silent(time) => format!("no greeting within {:.0} s", time.as_secs_f64()),
        other => format!("in the greeting: {other}"),
    })?;
    let mut patience = Patience::new(Instant::now(), LOGIN);
    let say = |wire: &mut Wire<TcpStream>, message| tell(wire, &message).map_err(|broken| broken.to_string());
    say(&mut wire, login(&own_node_name(), &platform()))?;
    loop {
        match wire.message(&mut patience).await {
            Ok(Message::ConfCs(_)) => return Ok(wire),
            Ok(Message::GetInternals) => say(&mut wire, internals())?,
            Ok(Message::Ping) => say(&mut wire, Message::Ping)?,
            Ok(other) => return Err(format!("{} in answer to the login", other.kind())),
            Err(Broken::Closed) => {
                return Err("it closed the connection after the login: is this machine on its block list?".to_owned());
            }
            Err(broken) => return Err(format!("after the login: {broken}")),
        }
    }
}

/// Tells a scheduler something, if it reads.
fn tell(wire: &mut Wire<TcpStream>, message: &Message) -> Result<(), Broken> {
    if wire.backlog() > MAX_BACKLOG { Err(Broken::Deaf) } else { wire.say(message) }
}

/// Wakes the scheduler now and then.
async fn nudge(scheduler: SocketAddrV4, own: Version) -> Infallible {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await;
    loop {
        sleep(NUDGE).await;
        if let Ok(socket) = &socket {
            // Without it the scheduler wakes up later.
            let _ = socket.send_to(&discovery::request(own), scheduler).await;
        }
    }
}

/// What people get who look into daemons.
fn internals() -> Message {
    Message::StatusText(concat!("thinbridge ", env!("CARGO_PKG_VERSION"), ": a link, takes no jobs\n").into())
}

impl Session<'_> {
    async fn run(&mut self) -> Result<End, End> {
        loop {
            self.introduce()?;
            let look_again = self.ask()?;
            let at = Instant::now() + LOOK_AGAIN;
            tokio::select! {
                biased;
                told = self.member.told() => self.told(told)?,
                event = self.wire.event() => match event {
                    Ok(Event::Message(message)) => self.hear(message)?,
                    Ok(_) => {}
                    Err(broken) => return Ok(self.lost(&broken)),
                },
                () = sleep_until(at), if look_again => {}
                () = sleep_until(self.renew_at.unwrap_or(at)), if self.renew_at.is_some() => return Ok(End::Renew),
            }
        }
    }

    /// As soon as the environment is there, the cluster can be asked.
    fn introduce(&mut self) -> Result<(), End> {
        let Some(phrases) = self.member.phrases.clone().filter(|_| !self.ready) else { return Ok(()) };
        self.ready = true;
        // A scheduler forgets with the connection what was said on it.
        let bad_hosts: Vec<Ipv4Addr> = self.member.bad_hosts.iter().copied().collect();
        bad_hosts.into_iter().try_for_each(|host| self.blacklist(host, &phrases))?;
        self.member.has_joined(self.way);
        Ok(())
    }

    /// Asks for what is wanted and withdraws what is not. `true`: it is worth looking again soon.
    fn ask(&mut self) -> Result<bool, End> {
        let Some(phrases) = self.member.phrases.clone().filter(|_| self.ready) else { return Ok(false) };
        let mut may = self.may()?;
        if may == May::Withdraw {
            self.withdraw_down_to(0)?;
            may = self.may()?;
        }
        if may != May::Wait {
            self.withdraw_down_to(self.member.wanted)?;
        }
        while may == May::Ask && self.books.unanswered() < self.member.wanted {
            let request = phrases.request(self.books.ask());
            self.say(&request)?;
        }
        Ok(self.turn.changes())
    }

    fn may(&mut self) -> Result<May, End> {
        let unanswered = self.books.unanswered();
        self.turn.look(self.member.wanted > 0, unanswered, Instant::now()).or_else(|error| {
            let reason = plain(&error);
            self.member.tell(News::Note(format!("links of this user do not take turns at the scheduler: {reason}")));
            Ok(May::Ask)
        })
    }

    fn withdraw_down_to(&mut self, count: usize) -> Result<(), End> {
        while self.books.unanswered() > count
            && let Some(client_id) = self.books.withdraw()
        {
            self.say(&withdrawal(client_id))?;
        }
        Ok(())
    }

    fn hear(&mut self, message: Message) -> Result<(), End> {
        match message {
            Message::UseCs(answer) => self.granted(&answer),
            Message::NoCs { job_id, client_id } => self.declined(job_id, client_id),
            Message::GetInternals => self.say(&internals()),
            Message::Ping => self.say(&Message::Ping),
            Message::End => Err(self.lost(&Broken::Closed)),
            // Of what else there is, nothing concerns us.
            Message::ConfCs(_) | Message::StatusText(_) | Message::Monitor { .. } => Ok(()),
            other => Err(self.lost(&Broken::OutOfTurn(format!("{} to a daemon", other.kind())))),
        }
    }

    fn granted(&mut self, answer: &UseCs) -> Result<(), End> {
        // Before version 37 a scheduler says "compile it yourself" by naming ourselves.
        if answer.port == 0 {
            return self.declined(answer.job_id, answer.client_id);
        }
        let request = self.answered(answer.client_id)?;
        let Some(phrases) = self.member.phrases.clone() else { return Ok(()) };
        let ticket = self.member.ticket(answer.job_id);
        if !answer.has_environment && !self.member.settings.ship {
            // The request is made once more, of the hosts that are left.
            ticket.not_shipped(answer.host);
            return Ok(());
        }
        if request == Request::Waiting {
            self.member.answered();
        }
        self.member.grant(answer, ticket, &phrases);
        Ok(())
    }

    fn declined(&mut self, job_id: u32, client_id: u32) -> Result<(), End> {
        let request = self.answered(client_id)?;
        self.say(&unused(job_id))?;
        if request == Request::Waiting {
            self.member.answered();
            self.member.wanted = 0;
            self.withdraw_down_to(0)?;
            // Hosts that are counted on an environment take nothing now; the new connection will tell.
            if self.renew_at.is_none() {
                let reason = nobody(self.member.phrases.as_deref(), self.member.settings.ship);
                self.member.tell(News::Nobody { reason });
            }
        }
        Ok(())
    }

    /// Whatever the answer is: it must be to a request of ours.
    fn answered(&mut self, client_id: u32) -> Result<Request, End> {
        match self.books.answered(client_id) {
            Request::Unknown => {
                let what = format!("an answer to request {client_id}, which was not asked");
                Err(self.lost(&Broken::OutOfTurn(what)))
            }
            ours => Ok(ours),
        }
    }

    fn told(&mut self, told: Told) -> Result<(), End> {
        let current = self.member.session;
        match told {
            Told::Unused { session, job_id } if session == current => self.say(&unused(job_id)),
            Told::NotShipped { session, job_id, host } if session == current => self.not_shipped(job_id, host),
            Told::Blacklist(host) => match self.member.phrases.clone() {
                Some(phrases) => self.blacklist(host, &phrases),
                None => Ok(()),
            },
            Told::End(end) => Err(end),
            // A scheduler forgets the jobs of a connection that has ended.
            Told::Noted | Told::Unused { .. } | Told::NotShipped { .. } => Ok(()),
        }
    }

    /// The scheduler counts on an environment that will not come. It forgets that when the connection ends, which cannot
    /// be done for ever. Until then it names other hosts, some of which may be of the same kind: one end settles them
    /// together.
    fn not_shipped(&mut self, job_id: u32, host: Ipv4Addr) -> Result<(), End> {
        if let Some(phrases) = self.member.phrases.clone() {
            self.blacklist(host, &phrases)?;
        }
        if self.renew_at.is_some() {
            return Ok(());
        }
        if self.member.may_renew() {
            self.renew_at = Some(Instant::now() + BEFORE_RENEWAL);
            return Ok(());
        }
        if !self.member.settings.ship {
            return Err(End::Over("too many hosts lack the environment, and --icecream-ship is off".to_owned()));
        }
        self.say(&unused(job_id))
    }

    fn blacklist(&mut self, host: Ipv4Addr, phrases: &Phrases) -> Result<(), End> {
        match self.wire.version().number() >= BLACKLISTS {
            true => self.say(&phrases.blacklist(host)),
            false => Ok(()),
        }
    }

    fn say(&mut self, message: &Message) -> Result<(), End> {
        tell(&mut self.wire, message).map_err(|broken| self.lost(&broken))
    }

    fn lost(&self, broken: &Broken) -> End {
        End::Lost(format!("{}: {broken}", self.way))
    }
}

/// Why nobody takes our jobs: the scheduler does not say.
fn nobody(phrases: Option<&Phrases>, ship: bool) -> String {
    let platform = phrases.map_or("this", |phrases| phrases.kit.platform.as_str());
    match phrases.map(|phrases| phrases.preferred_host.as_str()).filter(|host| !host.is_empty()) {
        Some(host) => {
            format!("the cluster has no host {host} (ICECC_PREFERRED_HOST) that could take jobs of this link")
        }
        None if !ship => "no host of the cluster has the environment, and --icecream-ship is off".to_owned(),
        None => format!(
            "the cluster has no host that could take jobs of this link: it must be an {platform} machine with icecream \
             1.3 or newer that is allowed to chroot"
        ),
    }
}
