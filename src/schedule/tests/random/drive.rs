//! The drive loop of a link, on a virtual clock.

use super::farm::{Answer, Bytes, Shipping};
use super::*;

/// A round trip to the scheduler or a host.
const ROUND_TRIP: Duration = Duration::from_millis(2);

/// What a local compile takes for each byte of cost.
const SECONDS_PER_BYTE: f64 = 1.3e-6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    job: JobId,
    host: HostId,
    proof: bool,
}

/// What happens.
#[derive(Clone, Copy, Debug)]
enum Event {
    Found,
    Lost,
    Over,
    Served,
    Answer(Answer),
    Shipped { peer: usize, took: Option<Duration> },
    Freed { peer: usize },
    Probed(HostId, Result<(), Fault>),
    Made { attempt: Attempt, granted: bool, took: Duration, result: Result<Bytes, Fault> },
    Ended(Errand),
    Compiled(Errand),
}

/// A link under way.
pub(super) struct Link {
    schedule: Schedule,
    lot: Lot,
    /// Some objects are drawn for comparison.
    pub(super) checked: bool,
    jobs: Vec<JobSpec>,
    listed: Vec<Trouble>,
    farm: Option<Farm>,
    /// The host that each peer of the farm has become.
    names: BTreeMap<usize, HostId>,
    begin: Instant,
    now: Instant,
    events: BinaryHeap<Reverse<(Instant, u64)>>,
    what: BTreeMap<u64, Event>,
    last_event: u64,
    answers_under_way: usize,
    compiling: usize,
    reference: bool,
    proofs: Vec<(Attempt, Duration, Bytes)>,
    held: BTreeMap<HostId, Vec<(Attempt, Duration, Bytes)>>,
    checks: BTreeMap<JobId, (HostId, Bytes)>,
    made_by: BTreeMap<HostId, Vec<JobId>>,
    liars: BTreeSet<HostId>,
    doubted: BTreeSet<HostId>,
    under_way: BTreeSet<(JobId, HostId)>,
    /// Jobs that are being made for good, on a host or here.
    in_work: BTreeSet<JobId>,
    published: BTreeMap<JobId, Bytes>,
    longest: Duration,
    here: Duration,
    turns: u64,
    most_shipping: usize,
}

impl Link {
    pub(super) fn new(jobs: Vec<JobSpec>, policy: Policy, listed: Vec<Trouble>, farm: Option<Farm>, lot: Lot) -> Self {
        let now = Instant::now();
        let hosts = listed.iter().map(|_| HostSpec { slots: 2 }).collect();
        let mut schedule = Schedule::new(jobs.clone(), hosts, policy, now);
        if farm.is_some() {
            schedule = schedule.with_cluster(now);
        }
        let mut link = Self {
            schedule,
            lot,
            checked: true,
            jobs,
            listed,
            farm,
            names: BTreeMap::new(),
            begin: now,
            now,
            events: BinaryHeap::new(),
            what: BTreeMap::new(),
            last_event: 0,
            answers_under_way: 0,
            compiling: 0,
            reference: false,
            proofs: Vec::new(),
            held: BTreeMap::new(),
            checks: BTreeMap::new(),
            made_by: BTreeMap::new(),
            liars: BTreeSet::new(),
            doubted: BTreeSet::new(),
            under_way: BTreeSet::new(),
            in_work: BTreeSet::new(),
            published: BTreeMap::new(),
            longest: Duration::ZERO,
            here: Duration::ZERO,
            turns: 0,
            most_shipping: 0,
        };
        link.plan_the_farm();
        link
    }

    fn plan_the_farm(&mut self) {
        let Some(farm) = &self.farm else { return };
        let (changes, over, period) = (farm.changes.clone(), farm.over, farm.period());
        for (turn, at) in changes.into_iter().enumerate() {
            self.after(at, if turn % 2 == 0 { Event::Found } else { Event::Lost });
        }
        over.into_iter().for_each(|at| self.after(at, Event::Over));
        period.into_iter().for_each(|at| self.after(at, Event::Served));
    }

    pub(super) fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// From the start to the end, or to now.
    pub(super) fn took(&self) -> Duration {
        self.now - self.begin
    }

    /// What the longest attempt on a host took, its environment's way included.
    pub(super) fn longest_attempt(&self) -> Duration {
        self.longest
    }

    /// All local compiles, one after the other.
    pub(super) fn work_here(&self) -> Duration {
        self.here
    }

    /// Compilers that were on their way at once.
    pub(super) fn most_shipping(&self) -> usize {
        self.most_shipping
    }

    fn after(&mut self, time: Duration, event: Event) {
        let id = self.last_event + 1;
        self.last_event = id;
        self.events.push(Reverse((self.now + time, id)));
        self.what.insert(id, event);
    }

    /// Runs to the end.
    pub(super) fn run(&mut self, seed: u64) {
        while self.turn(seed) {
            self.turns += 1;
            let at_most = 3000 + 100 * self.jobs.len() as u64 + 150 * self.took().as_secs();
            assert!(self.turns < at_most, "seed {seed}: {} turns in {:?}", self.turns, self.took());
            assert!(self.took() < Duration::from_secs(36_000), "seed {seed}: it does not end");
        }
        assert!(self.in_work.is_empty(), "seed {seed}: {:?} still under way", self.in_work);
        let right = self.published.values().filter(|bytes| **bytes == Bytes::Right).count();
        assert_eq!(right, self.jobs.len(), "seed {seed}: jobs with the right bytes");
    }

    /// One turn of the loop; `false`: it is done.
    fn turn(&mut self, seed: u64) -> bool {
        let now = self.now;
        while let Some(order) = self.schedule.next(now) {
            self.start(order, None);
        }
        self.ask_cluster();
        if let Some((job, _)) = self.schedule.settle_canary(now) {
            self.publish(job, Bytes::Right);
            self.ask_cluster();
        }
        while self.compiling < self.schedule.local_wanted(now) {
            match self.schedule.local(now) {
                Some(errand) => self.compile(errand),
                None => break,
            }
        }
        if self.schedule.finished() {
            return false;
        }
        let wake = self.schedule.wake(now);
        let next = self.events.peek().map(|Reverse((at, _))| *at);
        assert!(wake.or(next).is_some(), "seed {seed}: nothing will ever happen after {:?}", self.took());
        if next.is_none_or(|next| wake.is_some_and(|wake| wake < next)) {
            self.now = wake.unwrap_or(now);
        } else if let Some(Reverse((at, id))) = self.events.pop() {
            self.now = at;
            if let Some(event) = self.what.remove(&id) {
                self.happened(event);
            }
        }
        true
    }

    fn ask_cluster(&mut self) {
        let wanted = self.schedule.requests_wanted(self.now);
        let Some(farm) = &mut self.farm else { return };
        farm.unanswered = wanted.saturating_sub(self.answers_under_way);
        self.serve(false);
    }

    /// Lets the scheduler answer.
    fn serve(&mut self, period: bool) {
        while let Some(farm) = &mut self.farm
            && let Some(answer) = farm.answer(period, &mut self.lot)
        {
            self.most_shipping = self.most_shipping.max(farm.shipping());
            self.answers_under_way += 1;
            self.after(ROUND_TRIP, Event::Answer(answer));
        }
    }

    fn happened(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Found => {
                self.farm.iter_mut().for_each(|farm| farm.found = true);
                self.schedule.cluster_joined(now);
            }
            Event::Lost => {
                self.farm.iter_mut().for_each(|farm| farm.found = false);
                self.schedule.cluster_lost(now);
            }
            Event::Over => {
                self.farm.iter_mut().for_each(|farm| farm.found = false);
                self.schedule.cluster_over(now);
            }
            Event::Served => {
                self.serve(true);
                let period = self.farm.as_ref().and_then(Farm::period);
                period.into_iter().for_each(|period| self.after(period, Event::Served));
            }
            Event::Answer(answer) => self.answered(answer),
            Event::Shipped { peer, took } => {
                self.farm.iter_mut().for_each(|farm| farm.installed(peer, took.is_some()));
                self.schedule.shipped(took);
                self.serve(false);
            }
            Event::Freed { peer } => {
                self.farm.iter_mut().for_each(|farm| farm.freed(peer));
                self.serve(false);
            }
            Event::Probed(host, Ok(())) => self.schedule.probed(host),
            Event::Probed(host, Err(fault)) => self.schedule.probe_failed(host, fault, now),
            Event::Made { attempt, granted, took, result } => self.made(attempt, granted, took, result),
            Event::Ended(errand) => {
                self.compiling -= 1;
                self.schedule.local_ended();
                self.after(Duration::from_millis(3), Event::Compiled(errand));
            }
            Event::Compiled(errand) => self.compiled(errand),
        }
    }

    fn answered(&mut self, answer: Answer) {
        self.answers_under_way -= 1;
        let (peer, shipping) = match answer {
            Answer::Nobody => return self.schedule.nobody(self.now),
            Answer::Here => {
                self.schedule.offered_here(self.now);
                return;
            }
            Answer::Grant { peer, shipping } => (peer, shipping),
        };
        if let Some((takes, result)) = shipping {
            let took = result.is_ok().then_some(takes);
            self.after(takes, Event::Shipped { peer, took });
        }
        let host = match self.names.get(&peer) {
            Some(host) => *host,
            None => self.schedule.add_host(self.now),
        };
        self.names.insert(peer, host);
        match self.schedule.granted(host, shipping.is_none(), self.now) {
            Some(order) => self.start(order, Some((peer, shipping))),
            None => self.after(ROUND_TRIP, Event::Freed { peer }),
        }
    }

    fn start(&mut self, order: Order, grant: Option<(usize, Option<Shipping>)>) {
        let (attempt, deadline) = match order {
            Order::Probe { host, deadline } => {
                let (took, result) = self.listed[host.0].outcome(ROUND_TRIP, deadline, &mut self.lot);
                return self.after(took, Event::Probed(host, result.map(|_| ())));
            }
            Order::Prove { host, job, deadline } => (Attempt { job, host, proof: true }, deadline),
            Order::Run { host, job, deadline } => (Attempt { job, host, proof: false }, deadline),
        };
        assert!(self.under_way.insert((attempt.job, attempt.host)), "{attempt:?} twice");
        assert!(self.jobs[attempt.job.0].remote, "{attempt:?} must stay here");
        assert!(attempt.proof || self.in_work.insert(attempt.job), "{attempt:?} is in work already");
        let good = self.local_time(attempt.job).mul_f64(self.lot.of(&[0.5, 1.0, 2.0]));
        let trouble = match (grant, &self.farm) {
            (Some((peer, _)), Some(farm)) => farm.trouble(peer),
            _ => self.listed[attempt.host.0],
        };
        let (mut took, mut result) = trouble.outcome(good, deadline, &mut self.lot);
        if let Some((_, Some((takes, shipped)))) = grant {
            took = if shipped.is_ok() { takes + took } else { takes };
            result = shipped.and(result);
        }
        if let Some((peer, _)) = grant {
            if result == Err(Fault::EnvironmentGone) {
                self.farm.iter_mut().for_each(|farm| farm.lost_compiler(peer));
            }
            self.after(took, Event::Freed { peer });
        }
        // The object is checked before its end is told.
        took += self.lot.millis(0, 30);
        self.longest = self.longest.max(took);
        self.after(took, Event::Made { attempt, granted: grant.is_some(), took, result });
    }

    fn made(&mut self, attempt: Attempt, granted: bool, took: Duration, result: Result<Bytes, Fault>) {
        self.under_way.remove(&(attempt.job, attempt.host));
        if granted {
            self.schedule.grant_ended(result.is_ok(), self.now);
        }
        match result {
            Ok(bytes) if attempt.proof => {
                self.proofs.push((attempt, took, bytes));
                self.compare_proofs();
            }
            Ok(bytes) => self.accept(attempt, took, bytes),
            Err(fault) if attempt.proof => self.proof_failed(attempt.host, fault),
            Err(fault) => self.failed(attempt, fault),
        }
    }

    fn compare_proofs(&mut self) {
        if !self.reference {
            return;
        }
        for (Attempt { job, host, .. }, took, bytes) in std::mem::take(&mut self.proofs) {
            if bytes == Bytes::Wrong {
                self.cast_out(host);
                self.proof_failed(host, Fault::WrongBytes);
                continue;
            }
            if self.schedule.proved(host, took) {
                self.publish(job, bytes);
            }
            if self.schedule.proven(host) {
                self.doubted.remove(&host);
            }
            self.release(host);
        }
    }

    fn proof_failed(&mut self, host: HostId, fault: Fault) {
        if fault == Fault::Misbehaved {
            self.doubt(host);
        }
        self.schedule.proof_failed(host, fault, self.now);
        self.release(host);
    }

    fn release(&mut self, host: HostId) {
        for (attempt, took, bytes) in self.held.remove(&host).unwrap_or_default() {
            self.accept(attempt, took, bytes);
        }
    }

    fn accept(&mut self, attempt: Attempt, took: Duration, bytes: Bytes) {
        let Attempt { job, host, .. } = attempt;
        if self.liars.contains(&host) {
            return self.failed(attempt, Fault::WrongBytes);
        }
        let belief = self.schedule.belief(host);
        if self.doubted.contains(&host) || belief == Belief::No {
            return self.failed(attempt, Fault::Refused);
        }
        if belief == Belief::Pending {
            self.held.entry(host).or_default().push((attempt, took, bytes));
            return;
        }
        assert_eq!(bytes, Bytes::Right, "a host that lies is believed: {attempt:?}");
        if self.checked && self.lot.one_in(10) {
            self.schedule.remote_to_check(job, host);
            self.checks.insert(job, (host, bytes));
            self.in_work.remove(&job);
            return;
        }
        self.schedule.remote_done(job, host, took);
        self.made_by.entry(host).or_default().push(job);
        self.in_work.remove(&job);
        self.publish(job, bytes);
    }

    fn failed(&mut self, attempt: Attempt, fault: Fault) {
        if fault == Fault::Misbehaved {
            self.doubt(attempt.host);
        }
        self.in_work.remove(&attempt.job);
        self.schedule.remote_failed(attempt.job, attempt.host, fault, self.now);
    }

    fn doubt(&mut self, host: HostId) {
        self.doubted.insert(host);
        self.make_again(host);
    }

    fn cast_out(&mut self, host: HostId) {
        self.liars.insert(host);
        self.schedule.lied(host, self.now);
        self.make_again(host);
    }

    fn make_again(&mut self, host: HostId) {
        let made = self.made_by.remove(&host).unwrap_or_default();
        self.published.retain(|job, _| !made.contains(job));
        self.schedule.make_again(host, &made);
    }

    fn local_time(&self, job: JobId) -> Duration {
        Duration::from_secs_f64(0.05 + self.jobs[job.0].cost as f64 * SECONDS_PER_BYTE)
    }

    fn compile(&mut self, errand: Errand) {
        let takes = self.local_time(errand.job);
        self.here += takes;
        self.compiling += 1;
        assert!(errand.why == Why::Reference || self.in_work.insert(errand.job), "{errand:?} is in work already");
        self.after(takes, Event::Ended(errand));
    }

    fn compiled(&mut self, errand: Errand) {
        let job = errand.job;
        match errand.why {
            Why::Reference => {}
            Why::Check => {
                self.checks.remove(&job);
                self.publish(job, Bytes::Right);
            }
            Why::Fallback | Why::Ordinary => self.publish(job, Bytes::Right),
        }
        if errand.why != Why::Reference {
            self.in_work.remove(&job);
        }
        self.schedule.local_done(errand, self.local_time(job));
        if self.schedule.canary() == Some(job) && errand.why != Why::Check {
            self.reference = true;
            self.compare_proofs();
        }
    }

    fn publish(&mut self, job: JobId, bytes: Bytes) {
        assert_eq!(self.published.insert(job, bytes), None, "{job:?} is done twice");
    }
}
