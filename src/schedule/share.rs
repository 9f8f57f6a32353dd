//! How many jobs a link may have in a cluster that other people use too.
//!
//! The scheduler serves waiting submitters in turn, but it takes no slot away from anybody: whoever comes later waits for
//! our jobs to end. So a link grows by one job for each slot that it gets until a request is not answered at once: the
//! cluster is full. Then it looks for others: when one of our jobs ends while we wait and the slot does not come back to us,
//! somebody else was waiting for it. If nobody was, the link goes on with as many jobs as there are cores, which leaves
//! newcomers the slots that a scheduler gives in advance. If somebody was, it leaves cores free for one user more. After a
//! while it tries again whether there is room.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Jobs at the start: as many environments as may be on their way at once.
const FIRST_WINDOW: f64 = 2.0;

/// A slot that is free comes within this time if nobody else wants it: the host tells the scheduler that the job is done,
/// which answers us. Two round trips, and what a busy scheduler adds.
pub(super) const PROMPT: Duration = Duration::from_millis(250);

/// Requests that wait at the scheduler at a time. It answers each within a round trip while slots are free, so more
/// would only lengthen its queue.
pub(super) const MAX_UNANSWERED: usize = 16;

/// What one other user is likely to want at once: `make -j4`. Also what this link never goes below for others' sake, as it
/// is a user like them.
const ONE_USER: f64 = 4.0;

/// Of the slots that a scheduler gives on a host, those in which a job runs at once; in the others it waits for one of
/// these. (A host of `n` cores has `n + 1 + n / 4` slots.)
const CORES_OF_SLOTS: f64 = 0.7;

/// Slots of ours that come back to us in a full cluster before we believe to be alone. The scheduler serves those who wait
/// in turn, so one would do if all ends were told in order.
const RETURNS: u32 = 4;

/// How long less than all is held while nobody else is there: a newcomer is not noticed for so long.
const LONE_HOLD: Duration = Duration::from_secs(15);

/// How long less than all is held before it is tried whether there is room for more. Four times as long each time that
/// somebody is found in a full cluster: filling it costs the others time.
const FIRST_HOLD: Duration = Duration::from_secs(30);
const LAST_HOLD: Duration = Duration::from_secs(480);

/// What this link may hold of the cluster.
#[derive(Clone, Debug)]
pub(super) struct Share {
    window: f64,
    running: usize,
    /// Until when the window does not grow.
    held_until: Option<Instant>,
    /// How long it will be held when others are found the next time.
    next_hold: Duration,
    /// The most jobs since requests began to wait without a pause, and since when there were no more: `None`: none waits.
    most: Option<(usize, Instant)>,
    /// Slots of ours that have come back since the cluster was full.
    returned: u32,
    /// The last answer was a slot of this machine.
    turned_away: bool,
    /// When jobs of ours ended while requests waited, each until its slot has come back.
    freed: VecDeque<Instant>,
    /// Slots that came when none of ours was known to be free: when, and what room they made. The host may tell the
    /// scheduler of a job's end before its object is checked here and the end is told.
    early: VecDeque<(Instant, f64)>,
}

impl Share {
    pub(super) fn new() -> Self {
        Self {
            window: FIRST_WINDOW,
            running: 0,
            held_until: None,
            next_hold: FIRST_HOLD,
            most: None,
            returned: 0,
            turned_away: false,
            freed: VecDeque::new(),
            early: VecDeque::new(),
        }
    }

    /// Requests that may wait now.
    pub(super) fn room(&self) -> usize {
        // The window is small and positive, so the cast takes whole jobs.
        (self.window as usize).saturating_sub(self.running).min(MAX_UNANSWERED)
    }

    /// Jobs of this link in the cluster.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// So many requests wait from now on.
    pub(super) fn asks(&mut self, unanswered: usize, now: Instant) {
        if unanswered > 0 {
            self.most = self.most.or(Some((self.running, now)));
        } else {
            self.most = None;
            self.freed.clear();
        }
    }

    /// A slot was given to us, and is used.
    pub(super) fn granted(&mut self, now: Instant) {
        self.running += 1;
        self.turned_away = false;
        if self.most.is_some_and(|(most, _)| self.running > most) {
            self.most = Some((self.running, now));
        }
        if self.freed.pop_front().is_some() {
            self.returned += 1;
            return;
        }
        let growth = if self.holds(now) { 0.0 } else { 1.0 };
        self.window += growth;
        self.forget_early(now);
        self.early.push_back((now, growth));
    }

    /// A job of ours ended. `waiting`: requests were unanswered at that moment, for which its slot should come back.
    pub(super) fn ended(&mut self, waiting: bool, now: Instant) {
        self.running = self.running.saturating_sub(1);
        if !waiting {
            return;
        }
        self.forget_early(now);
        match self.early.pop_front() {
            Some((_, growth)) => {
                self.window = (self.window - growth).max(1.0);
                self.returned += 1;
            }
            None => self.freed.push_back(now),
        }
    }

    fn forget_early(&mut self, now: Instant) {
        self.early.retain(|(came, _)| now < *came + PROMPT);
    }

    /// Looks at the time: slots that have not come back went to somebody else.
    pub(super) fn look(&mut self, now: Instant) {
        let held = self.held();
        let full = self.most.is_some_and(|(_, since)| now >= since + PROMPT);
        let least = held.min(ONE_USER);
        if self.freed.front().is_some_and(|freed| now >= *freed + PROMPT) {
            self.hold((held * CORES_OF_SLOTS - ONE_USER).max(least), self.next_hold, now);
            self.next_hold = LAST_HOLD.min(self.next_hold * 4);
        } else if full && self.returned >= RETURNS && !self.holds(now) {
            self.hold((held * CORES_OF_SLOTS - ONE_USER.min(held / 8.0)).max(least), LONE_HOLD, now);
        } else if !full {
            self.returned = 0;
        }
    }

    /// The hosts are overloaded: hold half. Jobs that were begun before that and are late, too, say nothing new.
    pub(super) fn overloaded(&mut self, now: Instant) {
        if !self.holds(now) {
            self.hold((self.held() / 2.0).max(1.0), FIRST_HOLD, now);
        }
    }

    /// We were given a slot of this machine: the cluster has none beyond those that are held, or this machine was just the
    /// scheduler's choice. Told so twice, we do not wait for others to show.
    pub(super) fn full(&mut self, now: Instant) {
        let held = (self.running as f64).max(1.0);
        self.window = self.window.min(held);
        if std::mem::replace(&mut self.turned_away, true) && !self.holds(now) {
            self.hold((held * CORES_OF_SLOTS).max(held.min(ONE_USER)), FIRST_HOLD, now);
        }
    }

    /// What is held, not what was allowed: an allowance that was never used says nothing.
    fn held(&self) -> f64 {
        self.window.min(self.running as f64 + 1.0)
    }

    fn hold(&mut self, jobs: f64, time: Duration, now: Instant) {
        self.freed.clear();
        self.returned = 0;
        self.window = jobs;
        self.held_until = Some(now + time);
    }

    fn holds(&self, now: Instant) -> bool {
        self.held_until.is_some_and(|until| now < until)
    }

    /// When [`Share::look`] may find something; moments that have passed included.
    pub(super) fn changes(&self) -> impl Iterator<Item = Instant> {
        let full = self.most.map(|(_, since)| since);
        self.freed.front().copied().into_iter().chain(full).map(|since| since + PROMPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cluster of some slots; others hold and want some of them. Steps of 50 ms; each of our jobs takes ten of them.
    struct Farm {
        share: Share,
        ours: Vec<u32>,
        slots: usize,
        now: Instant,
    }

    impl Farm {
        fn new(slots: usize) -> Self {
            Self { share: Share::new(), ours: Vec::new(), slots, now: Instant::now() }
        }

        fn steps(&mut self, count: usize, others: usize) {
            for _ in 0..count {
                self.step(others);
            }
        }

        /// One step, in which the others want `others` slots and are served first.
        fn step(&mut self, others: usize) -> usize {
            self.now += Duration::from_millis(50);
            let waiting = self.share.room() > 0;
            self.share.asks(self.share.room(), self.now);
            self.ours.iter_mut().for_each(|left| *left -= 1);
            let ended = self.ours.iter().filter(|left| **left == 0).count();
            self.ours.retain(|left| *left > 0);
            (0..ended).for_each(|_| self.share.ended(waiting, self.now));
            let mut free = self.slots.saturating_sub(self.ours.len() + others);
            while free > 0 && self.share.room() > 0 {
                self.share.granted(self.now);
                self.ours.push(10);
                free -= 1;
            }
            self.share.look(self.now);
            self.ours.len()
        }
    }

    #[test]
    fn alone_it_takes_all_there_is_and_then_keeps_to_the_cores() {
        let mut farm = Farm::new(64);
        let held: Vec<usize> = (0..600).map(|_| farm.step(0)).collect();
        assert_eq!(held.iter().max(), Some(&64));
        let mean = held[100..].iter().sum::<usize>() as f64 / 500.0;
        assert!((0.6 * 64.0..0.8 * 64.0).contains(&mean), "{mean}");
    }

    #[test]
    fn beside_others_it_holds_no_more_than_they_leave() {
        let mut farm = Farm::new(8);
        farm.steps(100, 0);
        let held: Vec<usize> = (0..400).map(|_| farm.step(4)).collect();
        let late = &held[100..];
        let mean = late.iter().sum::<usize>() as f64 / late.len() as f64;
        assert!((1.0..=4.0).contains(&mean), "{mean}");
        // A job of ours that holds a slot the others want, at most at the tips.
        let over = late.iter().filter(|held| **held > 4).count();
        assert!(over * 4 < late.len(), "{over} of {}", late.len());
    }

    #[test]
    fn it_grows_again_when_they_have_gone() {
        let mut farm = Farm::new(8);
        farm.steps(200, 6);
        // Two holds, the second of which is four times as long.
        farm.steps(4000, 0);
        let most = (0..1000).map(|_| farm.step(0)).max();
        assert_eq!(most, Some(8));
    }

    #[test]
    fn one_job_is_always_allowed() {
        let mut share = Share::new();
        (0..10).for_each(|_| share.overloaded(Instant::now()));
        assert_eq!(share.room(), 1);
    }
}
