use super::*;

mod cluster;
mod fairness;
mod random;

const PATIENCE: Duration = Duration::from_secs(20);

/// A link in virtual time.
struct World {
    schedule: Schedule,
    now: Instant,
}

impl World {
    fn new(costs: &[u64], slots: &[usize], local_slots: usize) -> Self {
        let now = Instant::now();
        let jobs = costs.iter().map(|cost| JobSpec { cost: *cost, remote: true }).collect();
        let hosts = slots.iter().map(|slots| HostSpec { slots: *slots }).collect();
        let policy = Policy { local_slots, fallback_slots: 2, eager: true, patience: PATIENCE };
        Self { schedule: Schedule::new(jobs, hosts, policy, now), now }
    }

    fn orders(&mut self) -> Vec<Order> {
        let now = self.now;
        std::iter::from_fn(|| self.schedule.next(now)).collect()
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// Takes every local slot the schedule wants and ends each compile at once.
    fn drain_locally(&mut self) -> Vec<Errand> {
        let mut done = Vec::new();
        while self.schedule.local_wanted(self.now) > 0 {
            let Some(errand) = self.schedule.local(self.now) else { break };
            self.schedule.local_ended();
            self.schedule.local_done(errand, Duration::from_millis(100));
            done.push(errand);
        }
        done
    }

    /// Lets the host prove itself.
    fn prove(&mut self, host: usize) {
        assert!(self.orders().iter().any(|order| matches!(order, Order::Probe { host: h, .. } if h.0 == host)));
        self.schedule.probed(HostId(host));
        let orders = self.orders();
        assert!(orders.iter().any(|order| matches!(order, Order::Prove { host: h, .. } if h.0 == host)), "{orders:?}");
        for errand in self.drain_references() {
            self.schedule.local_ended();
            self.schedule.local_done(errand, Duration::from_millis(100));
        }
        self.schedule.proved(HostId(host), Duration::from_millis(100));
    }

    /// Lets all hosts prove themselves at once; returns the jobs that then start.
    fn prove_all(&mut self) -> Vec<(JobId, HostId)> {
        for order in self.orders() {
            let Order::Probe { host, .. } = order else { panic!("{order:?}") };
            self.schedule.probed(host);
        }
        let proofs = self.orders();
        for errand in self.drain_references() {
            self.schedule.local_ended();
            self.schedule.local_done(errand, Duration::from_millis(100));
        }
        for order in proofs {
            let Order::Prove { host, .. } = order else { panic!("{order:?}") };
            self.schedule.proved(host, Duration::from_millis(100));
        }
        self.runs()
    }

    fn drain_references(&mut self) -> Vec<Errand> {
        let errand = self.schedule.local(self.now).filter(|errand| errand.why == Why::Reference);
        errand.into_iter().collect()
    }

    fn runs(&mut self) -> Vec<(JobId, HostId)> {
        let run = |order| match order {
            Order::Run { job, host, .. } => Some((job, host)),
            _ => None,
        };
        self.orders().into_iter().filter_map(run).collect()
    }
}

#[test]
fn without_hosts_everything_is_ordinary_local_work_biggest_first() {
    let mut world = World::new(&[10, 30, 20], &[], 2);
    assert_eq!(world.orders(), []);
    assert_eq!(world.schedule.local_wanted(world.now), 2);
    let done = world.drain_locally();
    assert_eq!(done.iter().map(|errand| errand.job.0).collect::<Vec<_>>(), [1, 2, 0]);
    assert!(done.iter().all(|errand| errand.why == Why::Ordinary));
    assert!(world.schedule.finished());
}

#[test]
fn a_host_gets_real_jobs_only_after_version_and_bytes() {
    let mut world = World::new(&[10, 20, 30, 40, 50, 60, 70, 80], &[2], 0);
    let orders = world.orders();
    assert_eq!(orders, [Order::Probe { host: HostId(0), deadline: PATIENCE }]);
    world.schedule.probed(HostId(0));
    let orders = world.orders();
    assert!(matches!(orders[..], [Order::Prove { job: JobId(2), .. }]), "{orders:?}");
    let reference = world.schedule.local(world.now).unwrap();
    assert_eq!(reference, Errand { job: JobId(2), why: Why::Reference });
    world.schedule.local_ended();
    world.schedule.local_done(reference, Duration::from_millis(50));
    assert_eq!(world.orders(), []);
    assert!(world.schedule.proved(HostId(0), Duration::from_millis(100)), "the first proof is the canary's object");
    assert_eq!(world.runs(), [(JobId(7), HostId(0)), (JobId(6), HostId(0))]);
    assert_eq!(world.schedule.local_wanted(world.now), 0, "no local slots: hosts do it");
}

#[test]
fn all_hosts_down_means_fallbacks_at_once() {
    let mut world = World::new(&[10, 20, 30], &[4, 4], 0);
    for order in world.orders() {
        let Order::Probe { host, .. } = order else { panic!("{order:?}") };
        world.schedule.probe_failed(host, Fault::Unreachable, world.now);
    }
    assert!(!world.schedule.remote_possible(world.now));
    let done = world.drain_locally();
    assert_eq!(done.len(), 3);
    assert!(done.iter().all(|errand| errand.why == Why::Fallback));
    assert!(world.schedule.finished());
}

#[test]
fn a_silent_host_costs_one_deadline_however_often_it_is_tried() {
    let mut world = World::new(&[10, 20, 30, 40], &[4], 0);
    assert_eq!(world.orders().len(), 1);
    assert_eq!(world.schedule.local_wanted(world.now), 0);
    assert_eq!(world.schedule.wake(world.now), Some(world.now + PATIENCE));
    world.pass(PATIENCE);
    assert_eq!(world.schedule.local_wanted(world.now), 2);
    world.schedule.probe_failed(HostId(0), Fault::Slow, world.now);
    for _ in 0..5 {
        world.pass(Duration::from_secs(61));
        assert!(matches!(world.orders()[..], [Order::Probe { .. }]), "it is tried again");
        assert!(!world.schedule.remote_possible(world.now), "but nobody waits for it");
        world.schedule.probe_failed(HostId(0), Fault::Slow, world.now);
    }
    assert_eq!(world.drain_locally().len(), 4);
}

#[test]
fn a_missed_deadline_sends_the_job_home_and_halves_the_host() {
    let mut world = World::new(&[10; 20], &[8], 0);
    world.prove(0);
    let runs = world.runs();
    assert_eq!(runs.len(), 8);
    for (job, host) in &runs {
        assert_eq!(world.schedule.remote_failed(*job, *host, Fault::Slow, world.now), Verdict::Locally);
    }
    assert_eq!(world.orders(), [], "it rests");
    world.pass(REST);
    world.schedule.local(world.now).unwrap();
    world.prove(0);
    assert_eq!(world.runs().len(), 4, "one event, one halving");
}

#[test]
fn a_failure_of_the_wire_goes_to_another_host_and_then_home() {
    let mut world = World::new(&[10, 20, 30, 40, 50], &[1, 1, 1], 0);
    let runs = world.prove_all();
    assert_eq!(runs.len(), 3);
    let (job, host) = runs[0];
    assert_eq!(world.schedule.remote_failed(job, host, Fault::Refused, world.now), Verdict::Elsewhere);
    let other = runs[1];
    world.schedule.remote_done(other.0, other.1, Duration::from_millis(10));
    let again = world.runs();
    assert!(again.contains(&(job, other.1)), "{again:?}");
    assert_eq!(world.schedule.remote_failed(job, other.1, Fault::Misbehaved, world.now), Verdict::Locally);
    let errand = world.schedule.local(world.now).unwrap();
    assert_eq!(errand, Errand { job, why: Why::Fallback });
}

#[test]
fn a_job_that_no_host_is_left_for_goes_home() {
    let mut world = World::new(&[10, 20, 30, 40], &[1, 1], 0);
    let runs = world.prove_all();
    let [(job, a), (other, b)] = runs[..] else { panic!("{runs:?}") };
    assert_eq!(world.schedule.remote_failed(job, a, Fault::Refused, world.now), Verdict::Elsewhere);
    assert_eq!(world.schedule.local_wanted(world.now), 0, "the other host may take it");
    assert_eq!(world.schedule.remote_failed(other, b, Fault::WrongBytes, world.now), Verdict::Locally);
    world.pass(REST);
    assert!(world.schedule.remote_possible(world.now), "the first host is back, but it has failed the job");
    let errands: Vec<_> = std::iter::from_fn(|| world.schedule.local(world.now)).collect();
    assert!(errands.contains(&Errand { job, why: Why::Fallback }), "{errands:?}");
}

#[test]
fn where_fallbacks_matter_a_failed_job_waits_for_the_other_host() {
    let mut world = World::new(&[10, 20, 30, 40], &[1, 1], 2);
    world.schedule.policy.eager = false;
    let runs = world.prove_all();
    let (job, host) = runs[0];
    assert_eq!(world.schedule.remote_failed(job, host, Fault::Refused, world.now), Verdict::Elsewhere);
    let errands: Vec<_> = std::iter::from_fn(|| world.schedule.local(world.now)).collect();
    assert!(errands.iter().all(|errand| errand.job != job && errand.why == Why::Ordinary), "{errands:?}");
}

#[test]
fn three_failures_in_a_row_exclude_until_proved_again() {
    let mut world = World::new(&[10; 30], &[1], 0);
    world.prove(0);
    for _ in 0..MAX_FAILURES {
        let runs = world.runs();
        assert_eq!(runs.len(), 1);
        world.schedule.remote_failed(runs[0].0, runs[0].1, Fault::Compile, world.now);
    }
    assert_eq!(world.runs(), []);
    world.pass(REST);
    let orders = world.orders();
    assert!(matches!(orders[..], [Order::Probe { .. }]), "{orders:?}");
}

#[test]
fn another_version_is_out_for_the_link() {
    let mut world = World::new(&[10, 20], &[4], 1);
    world.orders();
    world.schedule.probe_failed(HostId(0), Fault::Incompatible, world.now);
    world.pass(Duration::from_secs(3600));
    assert_eq!(world.orders(), []);
    assert_eq!(world.schedule.wake(world.now), None);
}

#[test]
fn a_liar_s_objects_are_made_again_elsewhere() {
    let mut world = World::new(&[10, 20, 30, 40, 50], &[4], 0);
    world.prove(0);
    let runs = world.runs();
    let jobs: Vec<JobId> = runs.iter().map(|run| run.0).collect();
    for (job, host) in &runs[1..] {
        world.schedule.remote_done(*job, *host, Duration::from_millis(10));
    }
    world.schedule.remote_to_check(jobs[0], HostId(0));
    let check = world.schedule.local(world.now).unwrap();
    assert_eq!(check, Errand { job: jobs[0], why: Why::Check });
    world.schedule.lied(HostId(0), world.now);
    world.schedule.make_again(HostId(0), &jobs[1..]);
    world.schedule.local_ended();
    world.schedule.local_done(check, Duration::from_millis(10));
    assert!(!world.schedule.finished());
    assert_eq!(world.runs(), []);
    let again = world.drain_locally();
    assert_eq!(again.len(), jobs.len() - 1);
    assert!(again.iter().all(|errand| errand.why == Why::Fallback));
    assert!(world.schedule.finished());
}

#[test]
fn local_slots_work_beside_hosts_and_need_not_wait_for_them() {
    let mut world = World::new(&[10, 20, 30, 40], &[4], 2);
    world.orders();
    let done = world.drain_locally();
    assert!(world.schedule.finished(), "{done:?}");
    assert_eq!(done.last().map(|errand| errand.job), world.schedule.canary(), "the canary is kept for hosts");
    assert!(done.iter().all(|errand| errand.why == Why::Ordinary));
}

#[test]
fn where_fallbacks_matter_local_slots_wait_for_the_first_proof() {
    let mut world = World::new(&[10, 20, 30, 40], &[4], 2);
    world.schedule.policy.eager = false;
    world.orders();
    assert_eq!(world.schedule.local_wanted(world.now), 0);
    world.schedule.probe_failed(HostId(0), Fault::Unreachable, world.now);
    let done = world.drain_locally();
    assert!(done.iter().all(|errand| errand.why == Why::Fallback));

    let mut world = World::new(&[10, 20, 30, 40], &[1], 2);
    world.schedule.policy.eager = false;
    world.prove(0);
    assert_eq!(world.drain_locally().first().map(|errand| errand.why), Some(Why::Ordinary));
}

#[test]
fn a_canary_that_no_host_brings_is_published_from_its_reference() {
    let mut world = World::new(&[10], &[1], 0);
    world.orders();
    world.schedule.probed(HostId(0));
    world.orders();
    let reference = world.schedule.local(world.now).unwrap();
    world.schedule.local_ended();
    world.schedule.local_done(reference, Duration::from_millis(5));
    assert_eq!(world.schedule.settle_canary(world.now), None, "the host may still bring it");
    world.schedule.proof_failed(HostId(0), Fault::WrongBytes, world.now);
    assert_eq!(world.schedule.settle_canary(world.now), Some((JobId(0), Why::Fallback)));
    assert!(world.schedule.finished());
}

#[test]
fn jobs_that_must_stay_are_ordinary_and_need_no_host() {
    let now = Instant::now();
    let jobs = vec![JobSpec { cost: 5, remote: false }, JobSpec { cost: 9, remote: false }];
    let policy = Policy { local_slots: 0, fallback_slots: 1, eager: true, patience: PATIENCE };
    let mut world = World { schedule: Schedule::new(jobs, vec![HostSpec { slots: 1 }], policy, now), now };
    assert_eq!(world.schedule.local_wanted(now), 1);
    let done = world.drain_locally();
    assert_eq!(done.iter().map(|errand| errand.why).collect::<Vec<_>>(), [Why::Ordinary, Why::Ordinary]);
}

#[test]
fn hosts_are_filled_evenly() {
    let mut world = World::new(&[10; 12], &[4, 2], 0);
    let runs = world.prove_all();
    let on = |host: usize| runs.iter().filter(|(_, h)| h.0 == host).count();
    assert_eq!((on(0), on(1)), (4, 2));
    assert_eq!(runs[..3].iter().filter(|(_, h)| h.0 == 1).count(), 1, "by share of the slots, not one after the other");
}

#[test]
fn deadlines_follow_what_jobs_take() {
    let mut cost = CostModel::new(PATIENCE);
    assert!(cost.deadline(0) >= FIRST_DEADLINE);
    cost.observe(1_000_000, Duration::from_secs(10));
    assert!(cost.deadline(1_000_000) >= Duration::from_secs(60));
    assert!(cost.deadline(1_000_000) < Duration::from_secs(90));
    for _ in 0..100 {
        cost.observe(1_000_000, Duration::from_millis(100));
    }
    assert!(cost.deadline(1_000_000) < Duration::from_secs(22));
    assert!(cost.deadline(u64::MAX) <= Duration::from_secs(3700));
}
