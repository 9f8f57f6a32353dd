//! A job as the schedule sees it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{HostId, JobId, MAX_ASKS};

/// Hosts a job is tried on before it runs locally: a second host covers the failure of one, a third would mean that
/// the job itself is the trouble.
pub const MAX_ATTEMPTS: usize = 2;

/// What the schedule is told of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobSpec {
    /// How much work it is, in bytes of bitcode (see `CostModel`): only ratios matter.
    pub cost: u64,
    /// Whether it may leave the machine.
    pub remote: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Remote,
    Local,
    Done,
}

#[derive(Debug)]
pub(super) struct Job {
    pub(super) spec: JobSpec,
    pub(super) state: State,
    /// Hosts that failed it.
    pub(super) tried: Vec<HostId>,
    /// How often it was given to a host in vain.
    pub(super) attempts: usize,
    /// The cluster offered only hosts that had failed it.
    pub(super) asked_in_vain: bool,
    /// It was meant for a host and runs here.
    pub(super) fallback: bool,
}

impl Job {
    pub(super) fn new(spec: JobSpec) -> Self {
        Self { spec, state: State::Pending, tried: Vec::new(), attempts: 0, asked_in_vain: false, fallback: false }
    }

    /// Without an object yet.
    pub(super) fn open(&self) -> bool {
        self.state != State::Done
    }

    /// Whether a cluster may be asked for a slot for it.
    pub(super) fn may_ask(&self) -> bool {
        self.attempts < MAX_ASKS && !self.asked_in_vain
    }
}

/// The order of waiting jobs: biggest first, then as the linker listed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    cost: Reverse<u64>,
    pub(super) job: JobId,
}

impl Rank {
    pub(super) fn new(job: JobId, cost: u64) -> Self {
        Self { cost: Reverse(cost), job }
    }
}

/// The job that hosts prove themselves with: at the lower quartile of cost. Small, so that proving is quick; not the
/// smallest, which may hold no code at all.
pub(super) fn choose_canary(waiting: &BTreeSet<Rank>) -> Option<Rank> {
    waiting.iter().rev().nth(waiting.len() / 4).copied()
}
