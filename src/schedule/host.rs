//! A host as the schedule sees it: what it has proved, how many jobs it may have, when it rests.

use std::time::{Duration, Instant};

use super::{Belief, Fault};

/// Failures in a row after which a host must prove itself again.
pub const MAX_FAILURES: u32 = 3;

/// The first rest after a failure. Doubles with each failure until the host serves a job.
pub const REST: Duration = Duration::from_secs(2);

/// The longest rest.
pub const REST_MAX: Duration = Duration::from_secs(60);

/// What the schedule is told of a host.
#[derive(Clone, Copy, Debug)]
pub struct HostSpec {
    /// Jobs it may have at a time.
    pub slots: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Nothing is known (any more).
    Unknown,
    Probing,
    /// Has our compiler's version; its bytes are not known.
    Answered,
    Proving,
    Proven,
    /// Out for this link.
    Excluded,
}

#[derive(Debug)]
pub(super) struct Host {
    /// A cluster's scheduler grants its slots one by one.
    granted: bool,
    slots: usize,
    /// Slots in use at most now: halved by slowness, grown by service.
    limit: usize,
    running: usize,
    standing: Standing,
    has_proved: bool,
    /// It broke the rules while its canary was under way: whatever becomes of that, it proves nothing.
    spoiled: bool,
    /// When it had lost its compiler, if nothing has gone well since.
    lost_compiler: Option<Instant>,
    failures: u32,
    rests_until: Option<Instant>,
    rest: Duration,
    /// Since when its first answer may be awaited.
    start: Instant,
}

impl Host {
    pub(super) fn new(spec: HostSpec, now: Instant) -> Self {
        let slots = spec.slots.max(1);
        Self {
            granted: false,
            slots,
            limit: slots,
            running: 0,
            standing: Standing::Unknown,
            has_proved: false,
            spoiled: false,
            lost_compiler: None,
            failures: 0,
            rests_until: None,
            rest: REST,
            start: now,
        }
    }

    /// A host of a cluster. It gets our own compiler, which is not probed.
    pub(super) fn granted(now: Instant) -> Self {
        Self { granted: true, standing: Standing::Answered, ..Self::new(HostSpec { slots: 1 }, now) }
    }

    pub(super) fn is_granted(&self) -> bool {
        self.granted
    }

    /// What it has to begin with, again or for the first time.
    fn unproven(&self) -> Standing {
        if self.granted { Standing::Answered } else { Standing::Unknown }
    }

    pub(super) fn may_probe(&self, now: Instant) -> bool {
        self.standing == Standing::Unknown && !self.rests(now)
    }

    pub(super) fn probe_started(&mut self) {
        self.standing = Standing::Probing;
    }

    pub(super) fn answered(&mut self) {
        if self.standing == Standing::Probing {
            self.standing = Standing::Answered;
        }
    }

    pub(super) fn may_prove(&self, now: Instant) -> bool {
        self.standing == Standing::Answered && !self.rests(now)
    }

    pub(super) fn prove_started(&mut self) {
        self.standing = Standing::Proving;
        self.spoiled = false;
    }

    /// Its canary is under way.
    pub(super) fn proving(&self) -> bool {
        self.standing == Standing::Proving
    }

    pub(super) fn proved(&mut self) {
        if self.standing != Standing::Proving {
            return;
        }
        if self.spoiled {
            self.standing = self.unproven();
            return;
        }
        self.standing = Standing::Proven;
        self.has_proved = true;
        self.failures = 0;
        self.lost_compiler = None;
    }

    /// Its canary was right, and nothing has happened since that it would have to prove itself again for.
    pub(super) fn proven(&self) -> bool {
        self.standing == Standing::Proven
    }

    /// Has proved itself at some time.
    pub(super) fn has_proved(&self) -> bool {
        self.has_proved
    }

    /// A listed host gets jobs only once it has proved itself; a host of a cluster may get some beside its canary.
    pub(super) fn belief(&self) -> Belief {
        match self.standing {
            _ if !self.granted => Belief::Yes,
            Standing::Proving => Belief::Pending,
            _ if self.has_proved => Belief::Yes,
            _ => Belief::No,
        }
    }

    /// Proven and not resting.
    fn usable(&self, now: Instant) -> bool {
        self.proven() && !self.rests(now)
    }

    /// May take a job that it was granted for. What it makes beside its canary is believed after that; one that has failed
    /// gets nothing beside it.
    pub(super) fn may_run_granted(&self, now: Instant) -> bool {
        self.usable(now) || self.proving() && self.failures == 0
    }

    /// Usable and with a free slot.
    pub(super) fn free(&self, now: Instant) -> bool {
        !self.granted && self.usable(now) && self.running < self.limit
    }

    pub(super) fn load(&self) -> f64 {
        self.running as f64 / self.limit as f64
    }

    pub(super) fn take(&mut self) {
        self.running += 1;
    }

    pub(super) fn release(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// A job came back well.
    pub(super) fn served(&mut self) {
        self.release();
        self.failures = 0;
        self.lost_compiler = None;
        self.rest = REST;
        self.limit = self.slots.min(self.limit + 1);
    }

    /// Its probe or its canary failed.
    pub(super) fn failed(&mut self, fault: Fault, now: Instant) {
        if matches!(self.standing, Standing::Probing | Standing::Proving) {
            self.standing = self.unproven();
        }
        self.job_failed(fault, now);
    }

    /// A job failed on it. A probe or canary that is under way beside it goes on: there is never a second one.
    pub(super) fn job_failed(&mut self, fault: Fault, now: Instant) {
        if self.standing == Standing::Excluded {
            return;
        }
        if matches!(fault, Fault::WrongBytes | Fault::Incompatible) {
            self.standing = Standing::Excluded;
            return;
        }
        self.spoiled |= fault == Fault::Misbehaved;
        // Jobs that were under way together when the host went away or fell silent are one event.
        let passing = matches!(fault, Fault::Slow | Fault::Unreachable | Fault::Refused | Fault::EnvironmentGone);
        if self.rests(now) && passing || self.forgiven(fault, now) {
            return;
        }
        self.failures += 1;
        let unproven = self.standing != Standing::Proven;
        // Who was silent or broke the rules is tried with the canary again before a real job waits for it.
        let proves_again = matches!(fault, Fault::Misbehaved | Fault::Slow) || self.failures >= MAX_FAILURES;
        if proves_again && !unproven {
            self.standing = self.unproven();
        }
        if fault == Fault::Slow {
            self.limit = (self.limit / 2).max(1);
        }
        if fault != Fault::Compile || unproven || proves_again {
            self.rests_until = Some(now + self.rest);
            self.rest = REST_MAX.min(self.rest * 2);
        }
    }

    /// That others pushed our compiler out happens. A host that loses it each time would be sent it for ever.
    fn forgiven(&mut self, fault: Fault, now: Instant) -> bool {
        fault == Fault::EnvironmentGone && now < *self.lost_compiler.get_or_insert(now) + REST
    }

    /// Whether work may wait for it. Once a host has failed, it proves itself again beside the work, not before it: so
    /// a silent host costs a link one deadline, however often it is tried.
    pub(super) fn promising(&self, now: Instant, patience: Duration) -> bool {
        // Work does not wait for one host of a cluster, but for the cluster.
        if self.granted || self.rests(now) {
            return false;
        }
        match self.standing {
            Standing::Proven => true,
            Standing::Answered | Standing::Proving => self.failures == 0,
            Standing::Unknown | Standing::Probing => self.failures == 0 && now < self.start + patience,
            Standing::Excluded => false,
        }
    }

    /// Whether it takes jobs, or has taken some and may again: then a job that a local slot takes meanwhile was not meant
    /// for a host alone.
    pub(super) fn may_serve(&self, now: Instant, patience: Duration) -> bool {
        self.promising(now, patience) || !self.granted && self.has_proved && self.standing != Standing::Excluded
    }

    /// When `promising`, `may_probe` or `free` may change by time alone; moments that have passed included.
    pub(super) fn changes(&self, patience: Duration) -> impl Iterator<Item = Instant> {
        let first_answer = (!self.granted && self.standing != Standing::Proven).then(|| self.start + patience);
        [self.rests_until, first_answer].into_iter().flatten()
    }

    fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }
}
