//! A link beside another user of the same cluster, in virtual time: that user's `make -j4` is slowed little more than
//! beside a second `make -j4`.

use super::super::share::Share;
use super::random::Lot;
use super::*;

/// The step of the clock. Scheduler and hosts tell each other of ends and grants within one.
const STEP: Duration = Duration::from_millis(10);

/// Steps that a job of `make` takes on its own machine before it asks for a slot.
const BEFORE: u32 = 5;

/// Steps after which a link knows that a job of its own has ended: its object is checked first.
const CHECK: u32 = 3;

/// Jobs in all of the `make` that is watched.
const JOBS: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Make,
    Other,
    Link,
}

/// Four jobs at a time, one after the other.
struct Make {
    who: Who,
    /// Steps until each that is on its own machine asks.
    before: Vec<u32>,
    waiting: usize,
    done: usize,
}

impl Make {
    fn new(who: Who) -> Self {
        Self { who, before: vec![1, 2, 3, 4], waiting: 0, done: 0 }
    }

    fn step(&mut self) {
        self.before.iter_mut().for_each(|left| *left -= 1);
        let asking = self.before.iter().filter(|left| **left == 0).count();
        self.before.retain(|left| *left > 0);
        self.waiting += asking;
    }

    fn ended(&mut self) {
        self.done += 1;
        self.before.push(BEFORE);
    }
}

/// Hosts, the scheduler and its users.
struct World {
    /// Whose jobs each host has and the steps of work that are left of each, in the order in which they came.
    hosts: Vec<Vec<(Who, u32)>>,
    cores: usize,
    makes: Vec<Make>,
    link: Option<Share>,
    /// Steps until the link learns of each of its jobs that have ended.
    told_in: Vec<u32>,
    /// Steps that jobs take, on the average.
    length: u32,
    last: Who,
    now: Instant,
    lot: Lot,
}

impl World {
    fn new(hosts: usize, cores: usize, length: u32, seed: u64) -> Self {
        Self {
            hosts: vec![Vec::new(); hosts],
            cores,
            makes: Vec::new(),
            link: None,
            told_in: Vec::new(),
            length,
            last: Who::Link,
            now: Instant::now(),
            lot: Lot::new(seed),
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        self.makes.iter_mut().for_each(Make::step);
        self.work();
        self.tell_link();
        while self.grant() {}
    }

    /// A host runs as many jobs as it has cores; the others wait for these.
    fn work(&mut self) {
        for host in &mut self.hosts {
            host.iter_mut().take(self.cores).for_each(|(_, left)| *left -= 1);
            for (who, _) in host.iter().filter(|(_, left)| *left == 0) {
                match self.makes.iter_mut().find(|make| make.who == *who) {
                    Some(make) => make.ended(),
                    None => self.told_in.push(CHECK),
                }
            }
            host.retain(|(_, left)| *left > 0);
        }
    }

    fn tell_link(&mut self) {
        let Some(share) = &mut self.link else { return };
        self.told_in.iter_mut().for_each(|left| *left -= 1);
        let waiting = share.room() > 0;
        for _ in self.told_in.iter().filter(|left| **left == 0) {
            share.ended(waiting, self.now);
        }
        self.told_in.retain(|left| *left > 0);
        share.look(self.now);
        share.asks(share.room(), self.now);
    }

    /// The scheduler serves those who wait in turn, on the host that has least to do.
    fn grant(&mut self) -> bool {
        let slots = self.cores + 1 + self.cores / 4;
        let Some(host) = self.hosts.iter_mut().filter(|host| host.len() < slots).min_by_key(|host| host.len()) else {
            return false;
        };
        let turns = match self.last {
            Who::Make => [Who::Other, Who::Link, Who::Make],
            Who::Other => [Who::Link, Who::Make, Who::Other],
            Who::Link => [Who::Make, Who::Other, Who::Link],
        };
        let make_waits = |who| self.makes.iter().any(|make| make.who == who && make.waiting > 0);
        let link_waits = self.link.as_ref().is_some_and(|share| share.room() > 0);
        let Some(who) = turns.into_iter().find(|who| make_waits(*who) || *who == Who::Link && link_waits) else {
            return false;
        };
        self.last = who;
        host.push((who, self.length / 2 + self.lot.below(self.length.into()) as u32));
        match (self.makes.iter_mut().find(|make| make.who == who), &mut self.link) {
            (Some(make), _) => make.waiting -= 1,
            (None, Some(share)) => share.granted(self.now),
            (None, None) => {}
        }
        true
    }

    /// Time passes without the make that is watched.
    fn settle(mut self, time: Duration) -> Self {
        (0..time.as_millis() / STEP.as_millis()).for_each(|_| self.step());
        self
    }

    /// Steps until the make that is watched, which begins now, is done.
    fn make_takes(mut self) -> f64 {
        self.makes.push(Make::new(Who::Make));
        let mut steps = 0;
        while self.makes.iter().any(|make| make.who == Who::Make && make.done < JOBS) {
            self.step();
            steps += 1;
        }
        f64::from(steps)
    }

    fn with_link(mut self) -> Self {
        self.link = Some(Share::new());
        self
    }

    fn with_make(mut self) -> Self {
        self.makes.push(Make::new(Who::Other));
        self
    }
}

/// Hosts, their cores, and the steps that a job takes.
const CLUSTERS: [(usize, usize, u32); 5] = [(3, 2, 100), (3, 2, 300), (3, 4, 200), (2, 8, 100), (10, 8, 200)];

/// The link has filled the cluster when the make begins, which it cannot help. What that costs is in the figure, and more
/// for a short make than for a long one.
#[test]
fn a_make_is_slowed_little_more_than_by_another_make() {
    for (hosts, cores, length) in CLUSTERS {
        let (mut beside_make, mut beside_link) = (0.0, 0.0);
        for seed in 0..4 {
            let world = || World::new(hosts, cores, length, seed);
            beside_make += world().with_make().settle(Duration::from_secs(60)).make_takes();
            beside_link += world().with_link().settle(Duration::from_secs(60)).make_takes();
        }
        let ratio = beside_link / beside_make;
        assert!(ratio < 1.1, "{hosts} hosts of {cores} cores, {length} steps a job: {ratio:.3}");
    }
}

#[test]
fn a_lone_link_leaves_few_cores_idle() {
    for (hosts, cores, length) in CLUSTERS {
        let mut world = World::new(hosts, cores, length, 1).with_link().settle(Duration::from_secs(20));
        let steps = 6000;
        let mut busy = 0;
        for _ in 0..steps {
            world.step();
            busy += world.hosts.iter().map(|host| host.len().min(cores)).sum::<usize>();
        }
        let used = busy as f64 / (steps * hosts * cores) as f64;
        assert!(used > 0.8, "{hosts} hosts of {cores} cores, {length} steps a job: {used:.2} of the cores");
    }
}
