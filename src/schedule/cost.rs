//! How long a job may take, from how long such jobs took.

use std::time::Duration;

/// What an answer may take before anything was measured. Long enough for a busy volunteer's queue and a loaded network,
/// short enough that a silent host is bearable.
pub const FIRST_DEADLINE: Duration = Duration::from_secs(20);

/// What an answer may take, however small the job, once such jobs were measured here.
const LEAST_DEADLINE: Duration = Duration::from_secs(10);

/// A job may take this many times what the slowest such job took: volunteers differ, several compilers share one, and
/// the largest jobs take more per byte than the small ones that are measured first.
const MARGIN: f64 = 6.0;

/// Before the first measurement: seconds per byte of cost. rocksdb's modules take 1.3 s per million on one 2023 core;
/// eight times that is allowed.
const FIRST_SECONDS_PER_BYTE: f64 = 10.0 / 1e6;

/// What is expected before the first measurement, from the same program.
const EXPECTED_SECONDS_PER_BYTE: f64 = 1.3 / 1e6;

/// Bytes of cost that starting a compiler is worth (about 50 ms).
const START_COST: f64 = 40_000.0;

/// A summary index shard weighs this much more per byte than bitcode: in rocksdb both correlate equally with CPU time
/// (0.86 and 0.85) and bitcode is thirty times as large.
const SHARD_WEIGHT: u64 = 30;

/// Learns seconds per byte of cost from finished jobs.
#[derive(Clone, Debug)]
pub struct CostModel {
    patience: Duration,
    /// Seconds per byte of the slowest jobs, fading.
    slowest: Option<f64>,
}

impl CostModel {
    /// Nothing measured yet; `patience` is the deadline until then.
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, slowest: None }
    }

    /// The cost of a job from the sizes of its module and its shard, in bytes.
    pub fn cost(module: u64, shard: u64) -> u64 {
        module.saturating_add(shard.saturating_mul(SHARD_WEIGHT))
    }

    /// A job of this cost took that long.
    pub fn observe(&mut self, cost: u64, took: Duration) {
        let rate = took.as_secs_f64() / (cost as f64 + START_COST);
        // Fading by a twentieth a job: one stalled compile does not stretch every later deadline.
        self.slowest = Some(self.slowest.map_or(rate, |slowest| rate.max(slowest * 0.95)));
    }

    /// How much processor time jobs of this cost in all are likely to take, before anything was measured.
    pub fn first_guess(cost: u64, jobs: usize) -> Duration {
        seconds((cost as f64 + jobs as f64 * START_COST) * EXPECTED_SECONDS_PER_BYTE)
    }

    /// How much processor time that much work is likely to take, for the slowest of the machines seen.
    pub(super) fn expected(&self, cost: u64, jobs: usize) -> Duration {
        let rate = self.slowest.unwrap_or(EXPECTED_SECONDS_PER_BYTE);
        seconds((cost as f64 + jobs as f64 * START_COST) * rate)
    }

    /// The same on a host of a cluster: its scheduler gives it one job more than it has slots for, and any may be the
    /// one that waits for another to end.
    pub(super) fn deadline_in_queue(&self, cost: u64) -> Duration {
        self.deadline(cost) * 2
    }

    /// How long a host's answer to a job of this cost may take, from the moment the request has left.
    pub fn deadline(&self, cost: u64) -> Duration {
        match self.slowest {
            None => self.patience + seconds(cost as f64 * FIRST_SECONDS_PER_BYTE),
            Some(rate) => LEAST_DEADLINE.min(self.patience) + seconds((cost as f64 + START_COST) * rate * MARGIN),
        }
    }
}

/// Seconds as a duration, at most an hour: no single job is waited for longer.
fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 3600.0))
}
