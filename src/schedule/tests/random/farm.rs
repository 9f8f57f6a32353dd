//! A cluster: hosts with troubles of their own, and a scheduler that names them.

use super::*;

/// What is wrong with a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    None,
    /// Thirty times as slow.
    Sluggish,
    /// Takes what it is sent and never answers.
    Silent,
    Refuses,
    /// Other bytes than a local compile, always.
    Lies,
    /// One object in three is visibly wrong.
    Damages,
    /// The compiler is gone as soon as it is needed.
    LosesCompiler,
    Exhausted,
    Incompatible,
    /// Anything, now and then.
    Flaky,
}

impl Trouble {
    /// What becomes of a job that takes a good host so long.
    pub(super) fn outcome(self, good: Duration, deadline: Duration, lot: &mut Lot) -> (Duration, Result<Bytes, Fault>) {
        let soon = lot.millis(1, 40);
        let in_time = |took: Duration| match took < deadline {
            true => (took, Ok(Bytes::Right)),
            false => (deadline, Err(Fault::Slow)),
        };
        match self {
            Self::None => in_time(good),
            Self::Sluggish => in_time(good * 30),
            Self::Silent => (deadline, Err(Fault::Slow)),
            Self::Refuses => (lot.of(&[soon, Duration::from_secs(10)]).min(deadline), Err(Fault::Unreachable)),
            Self::Lies => (good.min(deadline), Ok(Bytes::Wrong)),
            Self::Damages if lot.one_in(3) => (good.min(deadline), Err(Fault::Misbehaved)),
            Self::Damages => in_time(good),
            Self::LosesCompiler => (soon, Err(Fault::EnvironmentGone)),
            Self::Exhausted => (good.min(deadline), Err(Fault::Exhausted)),
            Self::Incompatible => (soon, Err(Fault::Incompatible)),
            Self::Flaky => match lot.below(8) {
                0 => (soon, Err(lot.of(&[Fault::Refused, Fault::Unreachable, Fault::EnvironmentGone, Fault::Local]))),
                1 => (good.min(deadline), Err(lot.of(&[Fault::Compile, Fault::Misbehaved, Fault::Exhausted]))),
                2 => (deadline, Err(Fault::Slow)),
                _ => in_time(good),
            },
        }
    }

    fn shipping(self, lot: &mut Lot) -> Shipping {
        match self {
            Self::Refuses => (lot.millis(1, 40), Err(Fault::Unreachable)),
            Self::Silent if lot.one_in(2) => (Duration::from_secs(24), Err(Fault::Slow)),
            _ => (lot.millis(300, 3000), Ok(())),
        }
    }
}

/// An object as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bytes {
    Right,
    Wrong,
}

/// How the scheduler serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// At once, while there are slots.
    Prompt,
    /// Every some seconds.
    Bursts(Duration),
    /// Never.
    Silent,
    /// "Nobody" one time in three.
    Doubtful,
    /// "Compile it yourself" whenever a lot says so.
    Here,
}

/// How long the compiler is on its way, and whether it gets there.
pub(super) type Shipping = (Duration, Result<(), Fault>);

/// What a scheduler answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Grant { peer: usize, shipping: Option<Shipping> },
    Nobody,
    Here,
}

struct Peer {
    trouble: Trouble,
    slots: usize,
    assigned: usize,
    has_compiler: bool,
    installing: bool,
}

pub(super) struct Farm {
    peers: Vec<Peer>,
    service: Service,
    /// When the scheduler is found, lost and found again, in turns; then it is over, or not.
    pub(super) changes: Vec<Duration>,
    pub(super) over: Option<Duration>,
    pub(super) found: bool,
    /// Requests that wait.
    pub(super) unanswered: usize,
}

/// Jobs that a scheduler gives to a host of so many slots.
fn assigned_at_most(slots: usize) -> usize {
    slots + 1 + slots / 4
}

impl Farm {
    pub(super) fn new(troubles: Vec<Trouble>, lot: &mut Lot) -> Self {
        let service = match lot.below(8) {
            0 => Service::Bursts(lot.millis(200, 15_000)),
            1 => Service::Silent,
            2 => Service::Doubtful,
            3 => Service::Here,
            _ => Service::Prompt,
        };
        let turns = lot.of(&[0, 1, 1, 1, 3, 9]);
        let mut at = Duration::ZERO;
        let changes = (0..turns).map(|_| {
            at += lot.millis(1, 9000);
            at
        });
        let changes = changes.collect();
        let over = lot.one_in(6).then(|| at + lot.millis(1, 60_000));
        let mut farm = Self { peers: Vec::new(), service, changes, over, found: false, unanswered: 0 };
        farm.peers = troubles.into_iter().map(|trouble| peer(trouble, lot.of(&[1, 2, 8]), lot.one_in(2))).collect();
        farm
    }

    /// Hosts without trouble, and a scheduler that serves at once. `warm`: they have the compiler.
    pub(super) fn healthy(hosts: usize, slots: usize, warm: bool, lot: &mut Lot) -> Self {
        let peers = (0..hosts).map(|_| peer(Trouble::None, slots, warm)).collect();
        let changes = vec![lot.millis(1, 100)];
        Self { peers, service: Service::Prompt, changes, over: None, found: false, unanswered: 0 }
    }

    pub(super) fn trouble(&self, peer: usize) -> Trouble {
        self.peers[peer].trouble
    }

    pub(super) fn shipping(&self) -> usize {
        self.peers.iter().filter(|peer| peer.installing).count()
    }

    /// When the scheduler does something by itself.
    pub(super) fn period(&self) -> Option<Duration> {
        match self.service {
            Service::Bursts(period) => Some(period),
            _ => None,
        }
    }

    /// What it answers now. `period`: its time has come.
    pub(super) fn answer(&mut self, period: bool, lot: &mut Lot) -> Option<Answer> {
        let serves = match self.service {
            Service::Silent => false,
            Service::Bursts(_) => period,
            Service::Prompt | Service::Doubtful | Service::Here => true,
        };
        if !serves || !self.found || self.unanswered == 0 {
            return None;
        }
        let here = self.service == Service::Here && lot.one_in(4);
        let nobody = self.peers.is_empty() || self.service == Service::Doubtful && lot.one_in(3);
        if here || nobody {
            self.unanswered = if nobody { 0 } else { self.unanswered - 1 };
            return Some(if nobody { Answer::Nobody } else { Answer::Here });
        }
        // The first is its favourite.
        let free = |peer: &Peer| !peer.installing && peer.assigned < assigned_at_most(peer.slots);
        let warm = self.peers.iter().position(|peer| free(peer) && peer.has_compiler);
        let index = warm.or_else(|| self.peers.iter().position(free))?;
        let peer = &mut self.peers[index];
        peer.assigned += 1;
        self.unanswered -= 1;
        let shipping = (!peer.has_compiler).then(|| peer.trouble.shipping(lot));
        peer.installing = shipping.is_some();
        Some(Answer::Grant { peer: index, shipping })
    }

    pub(super) fn installed(&mut self, peer: usize, arrived: bool) {
        self.peers[peer].installing = false;
        self.peers[peer].has_compiler = arrived;
    }

    pub(super) fn lost_compiler(&mut self, peer: usize) {
        self.peers[peer].has_compiler = false;
    }

    pub(super) fn freed(&mut self, peer: usize) {
        self.peers[peer].assigned -= 1;
    }
}

fn peer(trouble: Trouble, slots: usize, has_compiler: bool) -> Peer {
    Peer { trouble, slots, assigned: 0, has_compiler, installing: false }
}
