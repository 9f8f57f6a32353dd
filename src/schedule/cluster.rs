//! A cluster whose own scheduler grants one slot at a time: when to ask it, for how many, and what a grant is used for.
//!
//! Its hosts are not known in advance. Each becomes a host of the schedule with its first grant; our own compiler travels
//! to it, so it is not probed, but what it makes is believed only after its canary.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::host::Host;
use super::job::{Job, State};
use super::share::{MAX_UNANSWERED, Share};
use super::{HostId, Order, Schedule, job};

/// How long nothing is asked after nobody could take a job: hosts come to a cluster within minutes, not milliseconds.
pub const NOBODY_REST: Duration = Duration::from_secs(10);

/// How long nothing is asked after a grant could not be used: the same host would be granted again at once. Up to five
/// times as long when that goes on.
const DECLINED_REST: Duration = Duration::from_millis(500);

/// Times a job is given to the cluster: its scheduler is asked again twice.
pub const MAX_ASKS: usize = 3;

/// Environments on their way at a time: each takes the link's whole bandwidth and room in a host's cache.
const MAX_SHIPPING: usize = 2;

/// An environment that has been on its way for longer is stuck, or its way is slow. It does not keep the link from the
/// other hosts.
const LONG_SHIPPING: Duration = Duration::from_secs(10);

/// The cost of shipping an environment before one was measured: 60 MB at 1 Gbit/s, unpacking and its self-test.
const FIRST_SHIPPING: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Its scheduler is being looked for.
    Seeking,
    /// It is asked for slots.
    Open,
    /// Not in this link (any more).
    Out,
}

/// The cluster as the schedule sees it.
#[derive(Debug)]
pub(super) struct Cluster {
    standing: Standing,
    share: Share,
    /// Requests that wait for an answer, as last decided.
    unanswered: usize,
    /// Since when work waits and nothing good has come; `None`: no work waits.
    waits_since: Option<Instant>,
    /// Jobs in the cluster that work may wait for: given to it while there was hope still. Others do not prolong it, or
    /// a cluster of hosts that take jobs and never answer would be waited for from one host to the next.
    hopeful: usize,
    /// Until when at most that is so: their deadlines.
    hope_until: Instant,
    /// The latest deadline of all jobs in the cluster.
    latest_deadline: Instant,
    rests_until: Option<Instant>,
    /// It rests because no host could take our jobs.
    nobody: bool,
    /// Grants in a row that could not be used because of their hosts. A scheduler names its favourite again and again; only
    /// when we ask for more slots than that host has, it names others.
    declined: usize,
    /// When the environments that are on their way were sent.
    shipping: VecDeque<Instant>,
    shipping_takes: Duration,
    /// The host of the last grant has the environment.
    warm: bool,
    /// Some host lacked it, so others may, too.
    lacking: bool,
    /// It is asked for what there is to do; otherwise shipping the environment would cost more than it saves.
    willing: bool,
    joined: bool,
    granted: bool,
}

impl Cluster {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            standing: Standing::Seeking,
            share: Share::new(),
            unanswered: 0,
            waits_since: Some(now),
            hopeful: 0,
            hope_until: now,
            latest_deadline: now,
            rests_until: None,
            nobody: false,
            declined: 0,
            shipping: VecDeque::new(),
            shipping_takes: FIRST_SHIPPING,
            warm: false,
            lacking: false,
            willing: true,
            joined: false,
            granted: false,
        }
    }

    /// Whether work may wait for it.
    pub(super) fn promising(&self, now: Instant, patience: Duration) -> bool {
        match self.standing {
            Standing::Out => false,
            _ if self.hopeful > 0 && now < self.hope_until => true,
            _ => self.willing && !self.has_nobody(now) && self.waits_in_patience(now, patience),
        }
    }

    fn waits_in_patience(&self, now: Instant, patience: Duration) -> bool {
        self.waits_since.is_none_or(|since| now < since + patience)
    }

    /// Whether it takes jobs, or has taken some and may again.
    pub(super) fn may_serve(&self, now: Instant, patience: Duration) -> bool {
        // What is not worth the environment's way was never meant for it.
        let unwilling = self.standing == Standing::Open && !self.willing;
        self.promising(now, patience) || unwilling || self.granted && self.standing != Standing::Out
    }

    /// When it may be asked or given up by time alone; moments that have passed included.
    pub(super) fn changes(&self, patience: Duration) -> impl Iterator<Item = Instant> {
        let given_up = self.waits_since.map(|since| since + patience);
        let hopeless = (self.hopeful > 0).then_some(self.hope_until);
        let stuck = self.shipping.iter().map(|sent| *sent + LONG_SHIPPING);
        [self.rests_until, given_up, hopeless].into_iter().flatten().chain(stuck).chain(self.share.changes())
    }

    fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    /// Nobody can take a job: that is more than a pause between two questions.
    fn has_nobody(&self, now: Instant) -> bool {
        self.nobody && self.rests(now)
    }

    fn rest(&mut self, time: Duration, now: Instant) {
        self.rests_until = Some(now + time);
        self.nobody = false;
        self.unanswered = 0;
        self.share.asks(0, now);
    }

    /// A job was given to it, which may take that long.
    fn started(&mut self, deadline: Duration, now: Instant, patience: Duration) {
        self.share.granted(now);
        self.granted = true;
        self.declined = self.declined.saturating_sub(1);
        self.latest_deadline = self.latest_deadline.max(now + deadline);
        if self.waits_in_patience(now, patience) {
            self.hopeful += 1;
            self.hope_until = self.hope_until.max(now + deadline);
        }
    }

    /// Requests that may wait now for `work` jobs.
    fn requests(&self, work: usize, now: Instant) -> usize {
        let room = self.share.room().min(work);
        if self.standing != Standing::Open || self.rests(now) || !self.willing || room == 0 {
            return 0;
        }
        // Each may be answered with a host that lacks the environment.
        let on_their_way = self.shipping.iter().filter(|sent| now < **sent + LONG_SHIPPING).count();
        let cold = if self.warm && !self.lacking { room } else { MAX_SHIPPING.saturating_sub(on_their_way) };
        match room.min(cold) {
            0 => 0,
            requests => (requests + self.declined).min(MAX_UNANSWERED),
        }
    }
}

impl Schedule {
    /// There is a cluster, whose scheduler is being looked for. Told before anything else.
    #[must_use]
    pub fn with_cluster(mut self, now: Instant) -> Self {
        self.cluster = Some(Cluster::new(now));
        self.choose_canary();
        self
    }

    /// The cluster can be asked.
    pub fn cluster_joined(&mut self, now: Instant) {
        self.cluster_is(Standing::Open, now);
        // One that is lost and found time and again is waited for no longer than one that is silent.
        if let Some(cluster) = self.cluster.as_mut().filter(|cluster| !cluster.joined) {
            cluster.joined = true;
            cluster.waits_since = Some(now);
        }
    }

    /// The connection to the cluster's scheduler is lost; it is being looked for again. Its hosts go on with their jobs.
    pub fn cluster_lost(&mut self, now: Instant) {
        self.cluster_is(Standing::Seeking, now);
    }

    /// The cluster is out for this link.
    pub fn cluster_over(&mut self, now: Instant) {
        self.cluster_is(Standing::Out, now);
    }

    fn cluster_is(&mut self, standing: Standing, now: Instant) {
        if let Some(cluster) = &mut self.cluster {
            cluster.standing = standing;
            cluster.unanswered = 0;
            cluster.share.asks(0, now);
        }
    }

    /// A host of the cluster that was not known.
    pub fn add_host(&mut self, now: Instant) -> HostId {
        self.hosts.push(Host::granted(now));
        HostId(self.hosts.len() - 1)
    }

    /// How many requests should wait at the cluster's scheduler from now on.
    pub fn requests_wanted(&mut self, now: Instant) -> usize {
        let (work, waits, worth) = (self.work_for_cluster(), self.work_waits(), self.worth_shipping());
        let Some(cluster) = &mut self.cluster else { return 0 };
        cluster.share.look(now);
        cluster.willing = cluster.warm || worth;
        cluster.waits_since = waits.then_some(cluster.waits_since.unwrap_or(now));
        cluster.unanswered = cluster.requests(work, now);
        cluster.share.asks(cluster.unanswered, now);
        cluster.unanswered
    }

    /// A slot on `host` is ours, for one job: what it is used for. `None`: nothing, it is given back.
    /// `has_environment`: the compiler need not travel there.
    pub fn granted(&mut self, host: HostId, has_environment: bool, now: Instant) -> Option<Order> {
        if let Some(cluster) = &mut self.cluster {
            cluster.unanswered = cluster.unanswered.saturating_sub(1);
            cluster.warm = has_environment;
            cluster.lacking |= !has_environment;
            // Given back or not, the environment travels.
            cluster.shipping.extend((!has_environment).then_some(now));
        }
        let room = self.cluster.as_ref().is_none_or(|cluster| cluster.share.room() > 0);
        let order = if room { self.order_for_grant(host, now) } else { None };
        let work = self.work_for_cluster();
        let Some(cluster) = &mut self.cluster else { return order };
        match order {
            Some(Order::Run { deadline, .. } | Order::Prove { deadline, .. } | Order::Probe { deadline, .. }) => {
                cluster.started(deadline, now, self.policy.patience);
            }
            None => {
                match work {
                    0 => cluster.declined = 0,
                    _ if room => cluster.declined = MAX_UNANSWERED.min(cluster.declined + 1),
                    _ => {}
                }
                // Hosts that are bad are not asked about at such a rate that the scheduler has work with it.
                cluster.rest(DECLINED_REST * (1 + cluster.declined as u32 / 4), now);
            }
        }
        order
    }

    /// The job on a grant has ended: the slot is the cluster's again. `good`: it brought an object. Told before what
    /// became of the job.
    pub fn grant_ended(&mut self, good: bool, now: Instant) {
        if let Some(cluster) = &mut self.cluster {
            // A slot comes back from a host that works, and comes from one that does not.
            cluster.share.ended(good && cluster.unanswered > 0, now);
            cluster.hopeful = cluster.hopeful.saturating_sub(1);
            // Its slot may be one for us again.
            if !cluster.has_nobody(now) {
                cluster.rests_until = None;
            }
            if good {
                cluster.waits_since = Some(now);
                cluster.hopeful = cluster.share.running();
                cluster.hope_until = cluster.latest_deadline;
                // The slot that is free now is on a host with the environment.
                cluster.warm = true;
            }
        }
    }

    /// An environment has arrived at a host after this time on its way; `None`: it has not.
    pub fn shipped(&mut self, took: Option<Duration>) {
        if let Some(cluster) = &mut self.cluster {
            cluster.shipping.pop_front();
            cluster.warm = took.is_some();
            cluster.shipping_takes = took.unwrap_or(cluster.shipping_takes);
        }
    }

    /// The cluster answered a request with a slot of this machine. True: a job that was meant for hosts takes it.
    pub fn offered_here(&mut self, now: Instant) -> bool {
        if let Some(cluster) = &mut self.cluster {
            cluster.share.full(now);
            // They are asked again when a job of ours ends or after a pause.
            cluster.rest(DECLINED_REST, now);
        }
        // A scheduler that knows nothing of this machine's speed yet names it first, and again until it knows. So where all
        // jobs are meant for hosts one is compiled here all the same, unless the user has forbidden that.
        let idle = self.local_running == 0 && self.local_only.is_empty() && self.errands.is_empty();
        self.policy.local_slots == 0 && self.policy.eager && idle && self.keep_one_here()
    }

    /// Takes one job from the hosts: a small one, but large enough to say something of the compiler's speed.
    fn keep_one_here(&mut self) -> bool {
        let Some(rank) = job::choose_canary(&self.pending) else { return false };
        self.pending.remove(&rank);
        if let Some(job) = self.jobs.get_mut(rank.job.0) {
            job.spec.remote = false;
            job.fallback = true;
        }
        self.queue(rank.job);
        true
    }

    /// The cluster has no host that could ever take our jobs.
    pub fn nobody(&mut self, now: Instant) {
        if let Some(cluster) = &mut self.cluster {
            cluster.rest(NOBODY_REST, now);
            cluster.nobody = true;
        }
    }

    /// A host of the cluster no longer has the environment, and tells its scheduler so now: asked at once, that would name
    /// it again for one that has it.
    pub(super) fn environment_gone(&mut self, now: Instant) {
        if let Some(cluster) = &mut self.cluster {
            cluster.rest(DECLINED_REST, now);
        }
    }

    /// The hosts of the cluster are slower than expected.
    pub(super) fn cluster_overloaded(&mut self, now: Instant) {
        if let Some(cluster) = &mut self.cluster {
            cluster.share.overloaded(now);
        }
    }

    pub(super) fn cluster_promising(&self, now: Instant) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.promising(now, self.policy.patience))
    }

    pub(super) fn cluster_may_serve(&self, now: Instant) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.may_serve(now, self.policy.patience))
    }

    /// There is only a cluster, and to send it our compiler would cost more than it saves.
    pub(super) fn better_here(&self) -> bool {
        let unwilling = |cluster: &Cluster| !cluster.willing && cluster.standing != Standing::Out;
        self.cluster.as_ref().is_some_and(unwilling) && self.hosts.iter().all(Host::is_granted)
    }

    /// Jobs that a grant could be used for.
    fn work_for_cluster(&self) -> usize {
        let proving = self.hosts.iter().any(Host::proving);
        let canary = self.canary.and_then(|canary| self.jobs.get(canary.job.0)).is_some_and(Job::open);
        let retries = self.retries.iter().filter(|rank| self.jobs.get(rank.job.0).is_some_and(Job::may_ask));
        self.pending.len() + retries.count() + usize::from(canary && !proving)
    }

    /// Whether there is work that is neither done nor under way for good. The canary waits also while hosts prove
    /// themselves with it.
    fn work_waits(&self) -> bool {
        self.canary.is_some_and(|canary| self.work_left(canary))
    }

    /// Whether hosts that lack the environment are worth sending it to: it must save more time than it takes. Without
    /// local slots there is nothing to compare with.
    fn worth_shipping(&self) -> bool {
        let Some(cluster) = &self.cluster else { return false };
        if self.policy.local_slots == 0 {
            return true;
        }
        let left: u64 = self.pending.iter().filter_map(|rank| self.jobs.get(rank.job.0)).map(|job| job.spec.cost).sum();
        let hands = self.policy.local_slots + cluster.share.running();
        self.cost.expected(left, self.pending.len()) / u32::try_from(hands).unwrap_or(u32::MAX) > cluster.shipping_takes
    }

    fn order_for_grant(&mut self, id: HostId, now: Instant) -> Option<Order> {
        let canary = self.canary?;
        if self.finished() {
            return None;
        }
        let host = self.hosts.get(id.0)?;
        if host.may_prove(now) && self.work_left(canary) {
            return self.prove(id, canary);
        }
        if !host.may_run_granted(now) {
            return None;
        }
        let Some(rank) = self.job_for_grant(id) else {
            // Asked again, the scheduler named a host that the waiting jobs cannot have.
            for rank in &self.retries {
                if let Some(job) = self.jobs.get_mut(rank.job.0) {
                    job.asked_in_vain = true;
                }
            }
            return None;
        };
        self.retries.remove(&rank);
        self.pending.remove(&rank);
        let job = self.jobs.get_mut(rank.job.0)?;
        job.state = State::Remote;
        self.hosts.get_mut(id.0)?.take();
        Some(Order::Run { host: id, job: rank.job, deadline: self.cost.deadline_in_queue(job.spec.cost) })
    }

    /// A job that has failed once has waited longest; then the biggest.
    fn job_for_grant(&self, host: HostId) -> Option<job::Rank> {
        let untried = |rank: &&job::Rank| self.jobs.get(rank.job.0).is_some_and(|job| !job.tried.contains(&host));
        self.retries.iter().find(untried).or_else(|| self.pending.first()).copied()
    }
}
