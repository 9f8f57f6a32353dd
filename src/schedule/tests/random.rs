//! Links drawn by lot, in virtual time: hosts and a cluster of every kind of trouble, driven as `distribute::drive` does.
//!
//! What has to hold whatever comes: the link ends in time, each job is done once and with the right bytes, nothing runs
//! twice at once, and the schedule is not asked without end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::*;

mod drive;
mod farm;

use drive::Link;
use farm::{Farm, Trouble};

/// Small, fast and the same everywhere.
pub(super) struct Lot(u64);

impl Lot {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// Below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}

/// A link that is drawn by lot from the kinds of trouble.
fn draw(seed: u64, troubles: &[Trouble]) -> Link {
    let mut lot = Lot::new(seed);
    let jobs: Vec<JobSpec> = (0..1 + lot.below(60))
        .map(|_| JobSpec {
            cost: lot.of(&[5_000, 200_000, 1_000_000, 4_000_000]) + lot.below(1000),
            remote: !lot.one_in(9),
        })
        .collect();
    let policy = Policy {
        local_slots: lot.of(&[0, 0, 1, 3]),
        fallback_slots: lot.of(&[1, 3]),
        eager: !lot.one_in(3),
        patience: PATIENCE,
    };
    let listed: Vec<Trouble> = (0..lot.of(&[0, 0, 1, 3])).map(|_| lot.of(troubles)).collect();
    let hosts = (0..lot.of(&[0, 1, 2, 6])).map(|_| lot.of(troubles)).collect();
    let farm = Farm::new(hosts, &mut lot);
    Link::new(jobs, policy, listed, Some(farm), lot)
}

const ALL: [Trouble; 12] = [
    Trouble::None,
    Trouble::None,
    Trouble::None,
    Trouble::Sluggish,
    Trouble::Silent,
    Trouble::Refuses,
    Trouble::Lies,
    Trouble::Damages,
    Trouble::LosesCompiler,
    Trouble::Exhausted,
    Trouble::Incompatible,
    Trouble::Flaky,
];

/// No host ever brings a good object.
const HOPELESS: [Trouble; 4] = [Trouble::Silent, Trouble::Refuses, Trouble::LosesCompiler, Trouble::Exhausted];

#[test]
fn every_link_ends_with_each_job_done_once_and_rightly() {
    for seed in 0..700 {
        let mut link = draw(seed, &ALL);
        link.run(seed);
        // Each good object makes work wait for the next one. Between two there is patience, and what was begun by then.
        let steps = link.jobs() as u32 + 2;
        let bound = (PATIENCE + link.longest_attempt()) * steps + link.work_here();
        assert!(link.took() <= bound, "seed {seed}: {:?} is more than {bound:?}", link.took());
    }
}

#[test]
fn hosts_that_are_no_good_hold_no_link_longer_than_patience_and_one_attempt() {
    for seed in 0..700 {
        let mut link = draw(seed, &HOPELESS);
        link.run(seed);
        // Patience with the search and with the cluster; then what was begun last ends badly and is done here.
        let bound = PATIENCE * 2 + link.longest_attempt() * 2 + link.work_here();
        assert!(link.took() <= bound, "seed {seed}: {:?} is more than {bound:?}", link.took());
    }
}

/// A link that is alone in a cluster uses its cores, whatever the order in which ends and grants come.
#[test]
fn a_lone_link_keeps_a_healthy_cluster_busy() {
    for seed in 0..40 {
        let mut lot = Lot::new(seed);
        let seconds = lot.of(&[1, 3, 10]);
        let slots = lot.of(&[2, 4, 8]);
        let farm = Farm::healthy(5, slots, true, &mut lot);
        let jobs = vec![JobSpec { cost: seconds * 770_000, remote: true }; 1000];
        let policy = Policy { local_slots: 0, fallback_slots: 2, eager: true, patience: PATIENCE };
        let mut link = Link::new(jobs, policy, Vec::new(), Some(farm), lot);
        link.checked = false;
        link.run(seed);
        // Hosts are twice as fast as this machine, as fast, or half as fast: 7/6 of the time on the average.
        let whole = Duration::from_secs(seconds) * 1000 * 7 / 6 / (5 * slots as u32);
        let bound = whole * 5 / 4 + Duration::from_secs(seconds) * 4 + Duration::from_secs(10);
        assert!(link.took() < bound, "seed {seed}: {:?}, {bound:?} allowed", link.took());
    }
}

#[test]
fn a_cold_cluster_gets_two_environments_at_a_time() {
    for seed in 0..40 {
        let mut lot = Lot::new(seed);
        let farm = Farm::healthy(9, lot.of(&[1, 4]), false, &mut lot);
        let jobs = vec![JobSpec { cost: 3_000_000, remote: true }; 200];
        let policy = Policy { local_slots: lot.of(&[0, 2]), fallback_slots: 2, eager: true, patience: PATIENCE };
        let mut link = Link::new(jobs, policy, Vec::new(), Some(farm), lot);
        link.run(seed);
        assert_eq!(link.most_shipping(), 2, "seed {seed}");
    }
}
