//! A link's part in a cluster from its start to its end: one session with a scheduler or a local daemon after another.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thinbridge_protocol::icecream::{UseCs, Version};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::cluster::Command;
use super::grant::{Grant, Held};
use super::messages::Phrases;
use super::shipment::{Consignment, Docks, ship};
use super::ticket::{LocalGrant, Ticket};
use super::{Environment, Kit, News, Options, Shipment, daemon, own};
use crate::config::Icecream;
use crate::fleet::icecream::{Surroundings, Way, find};

/// Pauses before the scheduler is looked for again, in seconds. After the last one the link goes on without a cluster.
const PAUSES: [u64; 5] = [1, 2, 4, 8, 16];

/// How often the connection is made anew because that settles the scheduler's books, before something else is done.
const MAX_RENEWALS: usize = 3;

/// Pause before that, so that the scheduler sees the old one end first.
const RENEWAL_PAUSE: Duration = Duration::from_millis(200);

/// How long it may take, when the link ends, to begin to send environments that are not on their way yet.
const SEEING_OFF: Duration = Duration::from_millis(650);

/// The greatest nice value that a scheduler knows.
const MAX_NICENESS: i32 = 20;

/// How a session with a scheduler or a local daemon ended.
#[derive(Debug)]
pub(super) enum End {
    /// The link ends.
    Closed,
    /// The connection is to be made anew, for the scheduler's books.
    Renew,
    /// There is no connection any more, or there never was.
    Lost(String),
    /// The cluster is of no use for this link.
    Over(String),
}

/// What a command or other event means for whoever waits.
pub(super) enum Told {
    /// Nothing but what the member has noted.
    Noted,
    /// [`Command::Unused`].
    Unused { session: u64, job_id: u32 },
    /// [`Command::NotShipped`].
    NotShipped { session: u64, job_id: u32, host: Ipv4Addr },
    /// [`Command::Blacklist`], for the first time.
    Blacklist(Ipv4Addr),
    /// The end, for this reason.
    End(End),
}

/// The state that outlives a session.
pub(super) struct Member {
    pub(super) settings: Arc<Icecream>,
    pub(super) around: Arc<Surroundings>,
    pub(super) own: Version,
    pub(super) turns: Option<PathBuf>,
    environment: Option<Environment>,
    title: String,
    arg_flags: u32,
    /// As soon as the environment is there.
    pub(super) phrases: Option<Arc<Phrases>>,
    commands: UnboundedReceiver<Command>,
    to_self: UnboundedSender<Command>,
    news: UnboundedSender<News>,
    /// Unanswered requests that there should be.
    pub(super) wanted: usize,
    /// Answers that were handed out.
    given: u64,
    pub(super) bad_hosts: BTreeSet<Ipv4Addr>,
    shipments: JoinSet<Shipment>,
    docks: Arc<Docks>,
    /// Which session this is.
    pub(super) session: u64,
    /// It is, or was, one with a local daemon.
    through_daemon: bool,
    renewals: usize,
    losses: usize,
    joined: bool,
}

impl Member {
    pub(super) fn new(
        options: Options,
        to_self: UnboundedSender<Command>,
        commands: UnboundedReceiver<Command>,
        news: UnboundedSender<News>,
    ) -> Self {
        Self {
            own: Version::from_number(options.settings.protocol).unwrap_or(Version::OURS),
            settings: Arc::new(options.settings),
            around: Arc::new(options.around),
            turns: options.turns,
            environment: Some(options.environment),
            title: options.title,
            arg_flags: options.arg_flags,
            phrases: None,
            commands,
            to_self,
            news,
            wanted: 0,
            given: 0,
            bad_hosts: BTreeSet::new(),
            shipments: JoinSet::new(),
            docks: Arc::new(Docks::new()),
            session: 0,
            through_daemon: false,
            renewals: 0,
            losses: 0,
            joined: false,
        }
    }

    /// Takes part until the link ends.
    pub(super) async fn run(mut self) {
        if let Some(reason) = self.take_part().await {
            self.tell(News::Over { reason });
            // Grants are good still, and environments that are on their way arrive.
            while !matches!(self.told().await, Told::End(End::Closed)) {}
        }
        // The end of a connection of our own makes the scheduler forget what it waits for.
        if self.through_daemon {
            self.see_off().await;
        }
    }

    /// Takes part for as long as there is a cluster. `None`: the link has ended.
    async fn take_part(&mut self) -> Option<String> {
        let mut way = None;
        loop {
            let (Ok(end) | Err(end)) = self.session(&mut way).await;
            let (reason, pause) = match end {
                End::Closed => return None,
                End::Over(reason) => return Some(reason),
                End::Renew => (None, RENEWAL_PAUSE),
                End::Lost(reason) if !self.joined => return Some(reason),
                End::Lost(reason) => {
                    let Some(pause) = PAUSES.get(self.losses) else { return Some(reason) };
                    self.losses += 1;
                    (Some(reason), Duration::from_secs(*pause))
                }
            };
            if let Some(reason) = reason {
                way = None;
                self.wanted = 0;
                self.tell(News::Lost { reason });
            }
            match self.meanwhile(sleep(pause)).await {
                Ok(()) => {}
                Err(End::Closed) => return None,
                Err(_) => {}
            }
        }
    }

    /// Goes the way, which is looked for if it is not known.
    async fn session(&mut self, known: &mut Option<Way>) -> Result<End, End> {
        let way = match known.take() {
            Some(way) => way,
            None => {
                let (settings, around) = (Arc::clone(&self.settings), Arc::clone(&self.around));
                let found = self.meanwhile(async move { find(&settings, &around).await }).await?;
                found.map_err(|reason| End::Lost(reason.to_string()))?
            }
        };
        self.session += 1;
        self.through_daemon = matches!(way, Way::Daemon(_));
        match known.insert(way.clone()) {
            Way::Daemon(path) => daemon::serve(self, path, &way).await,
            Way::Scheduler { address, .. } => own::serve(self, *address, &way).await,
        }
    }

    /// Does what else there is to do until `future` is done, or the link ends.
    pub(super) async fn meanwhile<T>(&mut self, future: impl Future<Output = T>) -> Result<T, End> {
        let mut future = std::pin::pin!(future);
        loop {
            tokio::select! {
                biased;
                done = &mut future => return Ok(done),
                told = self.told() => if let Told::End(end) = told { return Err(end) },
            }
        }
    }

    /// The next thing that whoever waits for something else has to know. Nothing is lost when the future is dropped.
    pub(super) async fn told(&mut self) -> Told {
        tokio::select! {
            biased;
            command = self.commands.recv() => match command {
                None | Some(Command::Close) => Told::End(End::Closed),
                Some(Command::Want { requests, taken }) => {
                    let unknown = usize::try_from(self.given.saturating_sub(taken)).unwrap_or(usize::MAX);
                    self.wanted = requests.saturating_sub(unknown);
                    Told::Noted
                }
                Some(Command::Unused { session, job_id }) => Told::Unused { session, job_id },
                Some(Command::NotShipped { session, job_id, host }) => {
                    // It would only be named again.
                    self.bad_hosts.insert(host);
                    Told::NotShipped { session, job_id, host }
                }
                Some(Command::Blacklist(host)) => match self.bad_hosts.insert(host) {
                    true => Told::Blacklist(host),
                    false => Told::Noted,
                },
            },
            Some(shipment) = self.shipments.join_next(), if !self.shipments.is_empty() => {
                // A task that has panicked has nothing to tell.
                if let Ok(shipment) = shipment {
                    self.tell(News::Shipped(shipment));
                }
                Told::Noted
            }
            Some(kit) = kit(&mut self.environment), if self.environment.is_some() => {
                self.environment = None;
                match kit {
                    Ok(kit) => {
                        self.phrases = Some(Arc::new(self.phrases(kit)));
                        Told::Noted
                    }
                    Err(reason) => Told::End(End::Over(reason)),
                }
            }
        }
    }

    fn phrases(&self, kit: Kit) -> Phrases {
        let nice = rustix::process::getpriority_process(None).unwrap_or(0);
        Phrases {
            kit: Arc::new(kit),
            title: self.title.clone(),
            arg_flags: self.arg_flags,
            preferred_host: self.settings.preferred_host.clone().unwrap_or_default(),
            niceness: nice.clamp(0, MAX_NICENESS).unsigned_abs(),
        }
    }

    /// The cluster can be asked from now on.
    pub(super) fn has_joined(&mut self, way: &Way) {
        self.joined = true;
        self.tell(News::Joined { way: way.to_string() });
    }

    /// A scheduler that answers is one that is there: losing it again begins to count anew.
    pub(super) fn answered(&mut self) {
        self.losses = 0;
        self.wanted = self.wanted.saturating_sub(1);
    }

    /// The link ends: sees to it that environments which the scheduler counts on are at least begun to be sent.
    async fn see_off(&mut self) {
        self.docks.leave();
        let all = async { while self.shipments.join_next().await.is_some() {} };
        // What is not done by then breaks off, too.
        let _ = timeout(SEEING_OFF, all).await;
    }

    /// Whether the connection may be made anew once more.
    pub(super) fn may_renew(&mut self) -> bool {
        self.renewals += 1;
        self.renewals <= MAX_RENEWALS
    }

    pub(super) fn tell(&mut self, news: News) {
        self.given += u64::from(matches!(news, News::Granted(_) | News::Here(_)));
        // Nobody listens any more when the link ends.
        let _ = self.news.send(news);
    }

    pub(super) fn ticket(&self, job_id: u32) -> Ticket {
        Ticket::own(job_id, self.session, self.to_self.clone())
    }

    /// Hands out a slot on a host, and sends the environment on its way if the host lacks it.
    pub(super) fn grant(&mut self, answer: &UseCs, ticket: Ticket, phrases: &Arc<Phrases>) {
        let host = SocketAddrV4::new(answer.host, answer.port);
        let berth = self.docks.host(host);
        let held = match answer.has_environment {
            true => Held::Ready(ticket),
            false => {
                let (to, coming) = oneshot::channel();
                self.shipments.spawn(ship(Consignment {
                    host,
                    ticket,
                    granted_at: Instant::now(),
                    own: self.own,
                    phrases: Arc::clone(phrases),
                    docks: Arc::clone(&self.docks),
                    berth: Arc::clone(&berth),
                    arrivals: berth.arrivals(),
                    to,
                }));
                Held::Coming(coming)
            }
        };
        let has_environment = answer.has_environment;
        let phrases = Arc::clone(phrases);
        self.tell(News::Granted(Grant { host, has_environment, own: self.own, phrases, berth, held }));
    }

    /// Hands out a slot of this machine.
    pub(super) fn grant_here(&mut self, grant: LocalGrant) {
        self.tell(News::Here(grant));
    }
}

async fn kit(environment: &mut Option<Environment>) -> Option<Result<Kit, String>> {
    Some(environment.as_mut()?.await)
}
