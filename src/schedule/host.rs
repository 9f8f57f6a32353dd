//! A host as the schedule sees it: what it has proved, how many jobs it may have, when it rests.

use std::time::{Duration, Instant};

use super::Fault;

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
    slots: usize,
    /// Slots in use at most now: halved by slowness, grown by service.
    limit: usize,
    running: usize,
    standing: Standing,
    has_proved: bool,
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
            slots,
            limit: slots,
            running: 0,
            standing: Standing::Unknown,
            has_proved: false,
            failures: 0,
            rests_until: None,
            rest: REST,
            start: now,
        }
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
    }

    pub(super) fn proved(&mut self) {
        if self.standing == Standing::Proving {
            self.standing = Standing::Proven;
            self.has_proved = true;
            self.failures = 0;
        }
    }

    /// Has proved itself at some time.
    pub(super) fn has_proved(&self) -> bool {
        self.has_proved
    }

    /// Proven and not resting.
    pub(super) fn usable(&self, now: Instant) -> bool {
        self.standing == Standing::Proven && !self.rests(now)
    }

    /// Usable and with a free slot.
    pub(super) fn free(&self, now: Instant) -> bool {
        self.usable(now) && self.running < self.limit
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
        self.rest = REST;
        self.limit = self.slots.min(self.limit + 1);
    }

    pub(super) fn failed(&mut self, fault: Fault, now: Instant) {
        if self.standing == Standing::Excluded {
            return;
        }
        if matches!(fault, Fault::WrongBytes | Fault::Incompatible) {
            self.standing = Standing::Excluded;
            return;
        }
        if matches!(self.standing, Standing::Probing | Standing::Answered | Standing::Proving) {
            self.standing = Standing::Unknown;
        }
        // Jobs that were under way together when the host went away or fell silent are one event.
        let known = self.rests(now) && matches!(fault, Fault::Slow | Fault::Unreachable | Fault::Refused);
        if known {
            return;
        }
        self.failures += 1;
        // Who was silent or broke the rules is tried with the canary again before a real job waits for it.
        if matches!(fault, Fault::Misbehaved | Fault::Slow) || self.failures >= MAX_FAILURES {
            self.standing = Standing::Unknown;
        }
        if fault == Fault::Slow {
            self.limit = (self.limit / 2).max(1);
        }
        if fault != Fault::Compile || self.standing == Standing::Unknown {
            self.rests_until = Some(now + self.rest);
            self.rest = REST_MAX.min(self.rest * 2);
        }
    }

    /// Whether work may wait for it. Once a host has failed, it proves itself again beside the work, not before it: so
    /// a silent host costs a link one deadline, however often it is tried.
    pub(super) fn promising(&self, now: Instant, patience: Duration) -> bool {
        if self.rests(now) {
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
        self.promising(now, patience) || self.has_proved && self.standing != Standing::Excluded
    }

    /// When `promising`, `may_probe` or `free` may change by time alone; moments that have passed included.
    pub(super) fn changes(&self, patience: Duration) -> impl Iterator<Item = Instant> {
        let first_answer = (self.standing != Standing::Proven).then(|| self.start + patience);
        [self.rests_until, first_answer].into_iter().flatten()
    }

    fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }
}
