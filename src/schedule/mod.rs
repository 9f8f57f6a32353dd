//! Who runs what, and when: a pure state machine.
//!
//! Facts go in ([`Schedule::probed`], [`Schedule::remote_done`], [`Schedule::remote_failed`], …) with the moment they
//! became known; decisions come out ([`Schedule::next`] for hosts, [`Schedule::local`] for a local slot that has become
//! free). It opens nothing, reads no clock and knows no runtime, so a test can drive years of it in a second.
//!
//! The rules:
//! * The biggest job first, wherever a slot is free.
//! * A host earns work in two steps: its compiler says the same `--version` as ours, and one job (the *canary*, the
//!   same for all hosts of a link) comes back with the bytes of a local compile.
//! * Slow is not bad: a missed deadline sends the job to a local slot, halves the host's slots and rests it. Protocol
//!   faults, wrong bytes or [`MAX_FAILURES`] failures in a row exclude it until it has proved itself again.
//! * A cluster with a scheduler of its own grants slots one by one ([`Schedule::requests_wanted`],
//!   [`Schedule::granted`]); what a grant is used for is decided when it comes.
//! * Nothing waits for hosts alone: when none can take work, every job left may run locally.
#![forbid(unsafe_code)]

mod choose;
mod cluster;
mod cost;
mod host;
mod job;
mod share;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use cluster::Cluster;
pub use cluster::{MAX_ASKS, NOBODY_REST};
pub use cost::{CostModel, FIRST_DEADLINE};
use host::Host;
pub use host::{HostSpec, MAX_FAILURES, REST, REST_MAX};
use job::{Job, State};
pub use job::{JobSpec, MAX_ATTEMPTS};

/// A job of this link, by its place in the job description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub usize);

/// A host of this link, by its place in the host list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub usize);

/// Why an attempt on a host brought no object: whose fault it was decides what happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No connection: nothing listens, the name does not resolve, the network is away.
    Unreachable,
    /// The connection was closed without an answer: access denied, compiler not allowed, or a daemon going down.
    Refused,
    /// Silence, or a deadline missed. Slow, not bad.
    Slow,
    /// Speaks, but cannot serve us: another protocol version, another compiler, no compiler.
    Incompatible,
    /// Broke the protocol or returned an object that cannot be right.
    Misbehaved,
    /// Returned other bytes than the local compiler makes. Nothing it sent is believed any more in this link.
    WrongBytes,
    /// The request could not be made, for a reason of our own. No host is to blame.
    Local,
    /// Ran out of memory or disk space. The next host may have more.
    Exhausted,
    /// No longer has the compiler that it was sent. Nobody's fault: it is sent again.
    EnvironmentGone,
    /// The compiler there failed. Whether the job or the host is to blame shows when it is compiled locally.
    Compile,
}

/// What happens to a job after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Another host may try it.
    Elsewhere,
    /// It runs locally.
    Locally,
}

/// Whether what a host made is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// It has proved itself.
    Yes,
    /// Its canary is under way.
    Pending,
    /// It has not, and nothing is under way.
    No,
}

/// Something to start on a host, with the time it may take once the request has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Ask for the compiler's version.
    Probe {
        /// Whom.
        host: HostId,
        /// How long the answer may take.
        deadline: Duration,
    },
    /// Compile the canary, for comparison with the local compile of the same job.
    Prove {
        /// Where.
        host: HostId,
        /// The canary.
        job: JobId,
        /// How long the answer may take.
        deadline: Duration,
    },
    /// Compile a job.
    Run {
        /// Where.
        host: HostId,
        /// Which.
        job: JobId,
        /// How long the answer may take.
        deadline: Duration,
    },
}

/// Why a job is compiled locally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The canary's local bytes, which hosts are waiting to be compared with.
    Reference,
    /// A host's object was drawn for comparison.
    Check,
    /// It was meant for a host.
    Fallback,
    /// A local slot was free, or the job can only run here.
    Ordinary,
}

/// Local work for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errand {
    /// Which job.
    pub job: JobId,
    /// Why here.
    pub why: Why,
}

/// How local slots are used.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Local jobs beside the remote ones; 0: a job runs locally only when no host can have it.
    pub local_slots: usize,
    /// Local jobs at a time for what must run locally when `local_slots` is 0. At least 1.
    pub fallback_slots: usize,
    /// Local slots may take any job from the start. Otherwise they wait until a host has proved itself or none can, so
    /// that a link whose hosts are all dead shows it by its fallbacks, however fast this machine is.
    pub eager: bool,
    /// How long an answer that no local measurement speaks for may take, and how long jobs wait for hosts that have
    /// not yet said anything.
    pub patience: Duration,
}

/// One link's jobs, hosts and what became of them so far.
#[derive(Debug)]
pub struct Schedule {
    jobs: Vec<Job>,
    hosts: Vec<Host>,
    cluster: Option<Cluster>,
    policy: Policy,
    cost: CostModel,
    /// Jobs that any host or a local slot may take, biggest first.
    pending: BTreeSet<job::Rank>,
    /// Jobs that a host has failed and another may take, biggest first.
    retries: BTreeSet<job::Rank>,
    /// Jobs that only a local slot may take, biggest first.
    local_only: BTreeSet<job::Rank>,
    /// References and checks: somebody waits for these.
    errands: VecDeque<Errand>,
    canary: Option<Canary>,
    local_running: usize,
    unfinished: usize,
}

/// The job that hosts prove themselves with.
#[derive(Clone, Copy, Debug)]
struct Canary {
    job: JobId,
    reference: Reference,
}

/// Where the canary's local compile stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reference {
    Unasked,
    Underway,
    Ready,
}

impl Schedule {
    /// A schedule for `jobs` on `hosts`, starting at `now`.
    pub fn new(jobs: Vec<JobSpec>, hosts: Vec<HostSpec>, policy: Policy, now: Instant) -> Self {
        let mut schedule = Self {
            unfinished: jobs.len(),
            jobs: jobs.into_iter().map(Job::new).collect(),
            hosts: hosts.into_iter().map(|spec| Host::new(spec, now)).collect(),
            cluster: None,
            policy,
            cost: CostModel::new(policy.patience),
            pending: BTreeSet::new(),
            retries: BTreeSet::new(),
            local_only: BTreeSet::new(),
            errands: VecDeque::new(),
            canary: None,
            local_running: 0,
        };
        for index in 0..schedule.jobs.len() {
            schedule.queue(JobId(index));
        }
        if !schedule.hosts.is_empty() {
            schedule.choose_canary();
        }
        schedule
    }

    /// Sets one job apart for hosts to prove themselves with.
    fn choose_canary(&mut self) {
        if self.canary.is_none()
            && let Some(rank) = job::choose_canary(&self.pending)
        {
            self.pending.remove(&rank);
            self.canary = Some(Canary { job: rank.job, reference: Reference::Unasked });
        }
    }

    /// Whether every job has its object.
    pub fn finished(&self) -> bool {
        self.unfinished == 0
    }

    /// The canary, when this link has hosts and a job that may leave the machine.
    pub fn canary(&self) -> Option<JobId> {
        self.canary.map(|canary| canary.job)
    }

    /// The next thing to start on a host now, if any. Call until it returns `None`.
    pub fn next(&mut self, now: Instant) -> Option<Order> {
        let canary = self.canary?;
        if self.finished() {
            return None;
        }
        self.start_of_proof(canary, now).or_else(|| self.start_of_job(now))
    }

    /// The next moment at which [`Schedule::next`] or [`Schedule::local`] may answer otherwise without a new fact.
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        let patience = self.policy.patience;
        let cluster = self.cluster.iter().flat_map(|cluster| cluster.changes(patience));
        let hosts = self.hosts.iter().flat_map(|host| host.changes(patience));
        hosts.chain(cluster).filter(|at| *at > now).min()
    }

    /// How many local slots should be held or asked for now, those in use included.
    pub fn local_wanted(&self, now: Instant) -> usize {
        let ordinary = if self.local_may_take_pending(now) { self.pending.len() + self.canary_open() } else { 0 };
        let idle = ordinary == 0 && self.local_may_retry();
        let retries = if idle { self.retries.len() } else { self.stranded(now).count() };
        let waiting = self.errands.len() + self.local_only.len() + retries + ordinary;
        self.local_capacity().min(self.local_running + waiting)
    }

    /// A local slot is free: what it should compile. `None`: nothing (any more).
    pub fn local(&mut self, now: Instant) -> Option<Errand> {
        let errand = self.next_errand(now)?;
        self.local_running += 1;
        Some(errand)
    }

    /// Whether the canary's reference is ready and the canary should be published from it, because no host is going
    /// to bring it. Asked after each event; the answer `Some` is given once.
    pub fn settle_canary(&mut self, now: Instant) -> Option<(JobId, Why)> {
        let canary = self.canary?;
        if canary.reference != Reference::Ready
            || !self.jobs.get(canary.job.0)?.open()
            || !self.pending.is_empty()
            || !self.retries.is_empty()
        {
            return None;
        }
        let ordinary = self.policy.local_slots > 0;
        let why = match self.remote_possible(now) {
            false if ordinary && self.better_here() => Why::Ordinary,
            false => Why::Fallback,
            true if ordinary && self.unfinished == 1 => Why::Ordinary,
            true => return None,
        };
        self.finish(canary.job);
        Some((canary.job, why))
    }

    /// The host's compiler is ours.
    pub fn probed(&mut self, host: HostId) {
        if let Some(host) = self.hosts.get_mut(host.0) {
            host.answered();
        }
    }

    /// The probe failed.
    pub fn probe_failed(&mut self, host: HostId, fault: Fault, now: Instant) {
        if let Some(host) = self.hosts.get_mut(host.0) {
            host.failed(fault, now);
        }
    }

    /// The canary came back from the host with the right bytes, `took` after the request had left. True: it is the first,
    /// the canary's object is its.
    pub fn proved(&mut self, host: HostId, took: Duration) -> bool {
        if let Some(state) = self.canary.and_then(|canary| self.jobs.get(canary.job.0)) {
            self.cost.observe(state.spec.cost, took);
        }
        if let Some(host) = self.hosts.get_mut(host.0) {
            host.proved();
        }
        match self.canary {
            Some(canary) if self.jobs.get(canary.job.0).is_some_and(Job::open) => {
                self.finish(canary.job);
                true
            }
            _ => false,
        }
    }

    /// The canary brought no good object from the host.
    pub fn proof_failed(&mut self, host: HostId, fault: Fault, now: Instant) {
        if let Some(host) = self.hosts.get_mut(host.0) {
            host.failed(fault, now);
        }
        if fault == Fault::EnvironmentGone {
            self.environment_gone(now);
        }
    }

    /// A host's object for the job was accepted, `took` after the request had left.
    pub fn remote_done(&mut self, job: JobId, host: HostId, took: Duration) {
        if let Some(state) = self.jobs.get(job.0) {
            self.cost.observe(state.spec.cost, took);
        }
        if let Some(host) = self.hosts.get_mut(host.0) {
            host.served();
        }
        self.finish(job);
    }

    /// A host's object is good as far as can be seen, but drawn for comparison with a local compile. The host's slot
    /// is free; the job ends with [`Schedule::local_done`].
    pub fn remote_to_check(&mut self, job: JobId, host: HostId) {
        if let Some(host) = self.hosts.get_mut(host.0) {
            host.served();
        }
        if let Some(state) = self.jobs.get_mut(job.0) {
            state.state = State::Local;
            self.errands.push_back(Errand { job, why: Why::Check });
        }
    }

    /// An attempt on a host failed.
    pub fn remote_failed(&mut self, job: JobId, host: HostId, fault: Fault, now: Instant) -> Verdict {
        if let Some(host) = self.hosts.get_mut(host.0) {
            host.release();
            if fault != Fault::Local {
                host.job_failed(fault, now);
            }
        }
        let granted = self.hosts.get(host.0).is_some_and(Host::is_granted);
        if granted && fault == Fault::Slow {
            self.cluster_overloaded(now);
        }
        if fault == Fault::EnvironmentGone {
            self.environment_gone(now);
        }
        let Some(state) = self.jobs.get_mut(job.0) else { return Verdict::Locally };
        state.attempts += 1;
        // The host of a grant is the cluster's choice: it may be right for the job the next time.
        if !granted || matches!(fault, Fault::Incompatible | Fault::Misbehaved | Fault::WrongBytes) {
            state.tried.push(host);
        }
        let attempts = state.attempts;
        let patience = self.policy.patience;
        let another = self.untried(job).any(|(_, host)| host.promising(now, patience));
        let again = matches!(fault, Fault::Unreachable | Fault::Refused | Fault::Incompatible | Fault::Misbehaved)
            || matches!(fault, Fault::Exhausted | Fault::EnvironmentGone);
        let on_listed = another && attempts < MAX_ATTEMPTS;
        let in_cluster = attempts < MAX_ASKS && self.cluster_promising(now);
        let elsewhere = again && (on_listed || in_cluster);
        let Some(state) = self.jobs.get_mut(job.0) else { return Verdict::Locally };
        if elsewhere {
            state.state = State::Pending;
            self.queue(job);
            Verdict::Elsewhere
        } else {
            state.fallback = true;
            state.spec.remote = false;
            state.state = State::Pending;
            self.queue(job);
            Verdict::Locally
        }
    }

    /// A local compile was good, and took that long. A reference does not end its job; see
    /// [`Schedule::settle_canary`] and [`Schedule::proved`].
    pub fn local_done(&mut self, errand: Errand, took: Duration) {
        if let Some(state) = self.jobs.get(errand.job.0) {
            self.cost.observe(state.spec.cost, took);
        }
        if let Some(canary) = self.canary.as_mut().filter(|canary| canary.job == errand.job) {
            canary.reference = Reference::Ready;
        }
        if errand.why != Why::Reference {
            self.finish(errand.job);
        }
    }

    /// The compiler in a slot that [`Schedule::local`] filled has ended: the slot is free. What it made is told later,
    /// by [`Schedule::local_done`].
    pub fn local_ended(&mut self) {
        self.local_running = self.local_running.saturating_sub(1);
    }

    /// A host returned other bytes than the local compile: it is out for this link.
    pub fn lied(&mut self, host: HostId, now: Instant) {
        if let Some(host) = self.hosts.get_mut(host.0) {
            host.failed(Fault::WrongBytes, now);
        }
    }

    /// The objects that the host `made` are not believed any more: they are made again, elsewhere.
    pub fn make_again(&mut self, host: HostId, made: &[JobId]) {
        for job in made {
            if let Some(state) = self.jobs.get_mut(job.0).filter(|state| state.state == State::Done) {
                state.state = State::Pending;
                state.tried.push(host);
                state.attempts += 1;
                self.unfinished += 1;
                self.queue(*job);
            }
        }
    }

    /// Whether the host has proved itself and has not lost that again.
    pub fn proven(&self, host: HostId) -> bool {
        self.hosts.get(host.0).is_some_and(Host::proven)
    }

    /// Whether what the host made may be used.
    pub fn belief(&self, host: HostId) -> Belief {
        self.hosts.get(host.0).map_or(Belief::No, Host::belief)
    }

    /// Whether some host can take work now or may soon: while this is false, jobs run locally and are fallbacks.
    pub fn remote_possible(&self, now: Instant) -> bool {
        self.cluster_promising(now) || self.hosts.iter().any(|host| host.promising(now, self.policy.patience))
    }

    fn queue(&mut self, job: JobId) {
        let Some(state) = self.jobs.get(job.0) else { return };
        // The canary waits for hosts to prove themselves with; it is taken by name.
        if self.canary.is_some_and(|canary| canary.job == job && state.attempts == 0) {
            return;
        }
        let queue = match state.spec.remote {
            true if state.attempts == 0 => &mut self.pending,
            true => &mut self.retries,
            false => &mut self.local_only,
        };
        queue.insert(job::Rank::new(job, state.spec.cost));
    }

    fn finish(&mut self, job: JobId) {
        if let Some(state) = self.jobs.get_mut(job.0).filter(|state| state.state != State::Done) {
            state.state = State::Done;
            self.unfinished = self.unfinished.saturating_sub(1);
        }
    }
}
