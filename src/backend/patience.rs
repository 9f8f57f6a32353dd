//! How long a host may take: a deadline that bytes on the move put off.

use std::time::Duration;

use tokio::time::Instant;

/// Bytes a second that count as progress. A line of 10 Mbit/s that sixteen connections share moves 75 KB/s for each,
/// which is slow and no silence.
const MIN_RATE: f64 = 65_536.0;

/// However well bytes move, a phase ends after this many deadlines: a host that sends junk at a good rate does not
/// hold a job for ever, and a line so slow is no help.
const MOST_DEADLINES: u32 = 5;

/// The patience with one phase of an exchange: sending the request, or receiving the answer.
///
/// Each byte buys its time at [`MIN_RATE`], but never more than one deadline from the moment it moved. A peer that
/// takes some megabytes into its buffers at once and then falls silent is therefore given up after one deadline.
#[derive(Clone, Copy, Debug)]
pub(in crate::backend) struct Patience {
    since: Instant,
    deadline: Duration,
    until: Instant,
}

impl Patience {
    pub(in crate::backend) fn new(since: Instant, deadline: Duration) -> Self {
        Self { since, deadline, until: since + deadline }
    }

    /// When it ends.
    pub(in crate::backend) fn until(&self) -> Instant {
        self.until
    }

    /// How long it lasts as things stand.
    pub(in crate::backend) fn allowed(&self) -> Duration {
        self.until - self.since
    }

    /// Bytes have moved.
    pub(in crate::backend) fn moved(&mut self, bytes: usize, now: Instant) {
        let bought = Duration::from_secs_f64(bytes as f64 / MIN_RATE);
        let most = (now + self.deadline).min(self.since + self.deadline * MOST_DEADLINES);
        self.until = self.until.max(most.min(self.until + bought));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(20);

    /// How long a host holds a job that moves this many bytes in each second, for ever.
    fn held(rate: usize) -> Duration {
        let start = Instant::now();
        let mut patience = Patience::new(start, DEADLINE);
        let mut now = start;
        while now < patience.until() {
            now += Duration::from_secs(1);
            patience.moved(rate, now);
        }
        patience.allowed()
    }

    #[test]
    fn silence_ends_with_the_deadline_whatever_went_into_buffers_before() {
        let start = Instant::now();
        let mut patience = Patience::new(start, DEADLINE);
        patience.moved(8 << 20, start);
        assert_eq!(patience.allowed(), DEADLINE);
    }

    #[test]
    fn a_trickle_puts_it_off_a_little() {
        assert!(held(50) < DEADLINE * 11 / 10, "{:?}", held(50));
        assert!(held(32 << 10) <= DEADLINE * 2, "{:?}", held(32 << 10));
    }

    #[test]
    fn a_slow_line_is_no_silence_but_not_for_ever() {
        assert_eq!(held(75_000), DEADLINE * MOST_DEADLINES);
        assert_eq!(held(100 << 20), DEADLINE * MOST_DEADLINES);
    }

    #[test]
    fn a_fast_line_that_falls_silent_is_given_up_one_deadline_later() {
        let start = Instant::now();
        let mut patience = Patience::new(start, DEADLINE);
        for second in 0..30 {
            patience.moved(10 << 20, start + Duration::from_secs(second));
        }
        assert_eq!(patience.allowed(), Duration::from_secs(29) + DEADLINE);
    }
}
