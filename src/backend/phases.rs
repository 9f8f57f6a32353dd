//! The two phases of a job's exchange with a host, sending the request and receiving the answer: how long each may take,
//! and how long it took.

use std::time::Duration;

use tokio::time::Instant;

use super::Traffic;
use super::patience::Patience;

/// Where an exchange stands.
#[derive(Debug)]
pub(super) struct Phases {
    /// With the phase that is under way.
    patience: Patience,
    deadline: Duration,
    started: Instant,
    sent_at: Option<Instant>,
    answered_at: Option<Instant>,
}

impl Phases {
    /// The host may take `deadline` for each phase, and for the first from `since` on. `started`: when the time that
    /// sending takes began, connecting included.
    pub(super) fn new(started: Instant, since: Instant, deadline: Duration) -> Self {
        Self { patience: Patience::new(since, deadline), deadline, started, sent_at: None, answered_at: None }
    }

    /// When the patience ends.
    pub(super) fn until(&self) -> Instant {
        self.patience.until()
    }

    /// How long it lasts as things stand, in seconds.
    pub(super) fn allowed(&self) -> f64 {
        self.patience.allowed().as_secs_f64()
    }

    /// Whether the request has left.
    pub(super) fn has_sent(&self) -> bool {
        self.sent_at.is_some()
    }

    /// Whether some of the answer has come.
    pub(super) fn has_answer(&self) -> bool {
        self.answered_at.is_some()
    }

    /// Bytes have left; `whole`: the last of the request.
    pub(super) fn sent(&mut self, count: usize, whole: bool, traffic: &mut Traffic) {
        let now = Instant::now();
        traffic.sent = traffic.sent.saturating_add(count as u64);
        self.patience.moved(count, now);
        if whole {
            traffic.sending = now - self.started;
            self.sent_at = Some(now);
            self.patience = Patience::new(now, self.deadline);
        }
    }

    /// Bytes have come.
    pub(super) fn received(&mut self, count: usize, traffic: &mut Traffic) {
        let now = Instant::now();
        traffic.received = traffic.received.saturating_add(count as u64);
        self.patience.moved(count, now);
        if self.answered_at.is_none() {
            self.answered_at = Some(now);
            traffic.waiting = now - self.sent_at.unwrap_or(self.started);
        }
    }

    /// The answer is whole.
    pub(super) fn finished(&self, traffic: &mut Traffic) {
        traffic.receiving = self.answered_at.map_or(Duration::ZERO, |at| at.elapsed());
    }
}
