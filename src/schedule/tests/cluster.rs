//! Jobs on the hosts of a cluster, which grants slots one by one.

use super::*;

/// Links whose work is worth an environment: a million bytes of bitcode a job.
fn costs(jobs: usize) -> Vec<u64> {
    (0..jobs as u64).map(|job| 1_000_000 + job).collect()
}

impl World {
    fn with_cluster(mut self) -> Self {
        self.schedule = self.schedule.with_cluster(self.now);
        self.schedule.cluster_joined(self.now);
        self
    }

    fn wanted(&mut self) -> usize {
        self.schedule.requests_wanted(self.now)
    }

    fn grant(&mut self, host: HostId) -> Option<Order> {
        self.schedule.granted(host, true, self.now)
    }

    /// A new host of the cluster, which proves itself.
    fn proven_host(&mut self) -> HostId {
        let host = self.schedule.add_host(self.now);
        assert!(self.wanted() > 0);
        assert!(matches!(self.grant(host), Some(Order::Prove { .. })));
        for errand in self.drain_references() {
            self.schedule.local_ended();
            self.schedule.local_done(errand, Duration::from_millis(100));
        }
        self.schedule.grant_ended(true, self.now);
        self.schedule.proved(host, Duration::from_millis(100));
        host
    }

    /// Grants on the host until nothing more is wanted; the jobs that start.
    fn fill(&mut self, host: HostId) -> Vec<JobId> {
        let mut jobs = Vec::new();
        while self.wanted() > 0 {
            match self.grant(host) {
                Some(Order::Run { job, .. }) => jobs.push(job),
                other => panic!("{other:?}"),
            }
        }
        jobs
    }
}

#[test]
fn nothing_is_asked_before_the_scheduler_is_found() {
    let mut world = World::new(&costs(8), &[], 0);
    world.schedule = world.schedule.with_cluster(world.now);
    assert_eq!(world.wanted(), 0);
    assert_eq!(world.schedule.local_wanted(world.now), 0, "and local slots wait for it where there are none");
    world.schedule.cluster_joined(world.now);
    assert_eq!(world.wanted(), 2);
}

#[test]
fn an_offer_of_this_machine_is_taken_for_one_job_at_a_time_where_jobs_may_fall_back() {
    let mut world = World::new(&costs(8), &[], 0).with_cluster();
    assert!(world.wanted() > 0);
    world.schedule.offered_here(world.now);
    world.schedule.offered_here(world.now);
    let errand = world.schedule.local(world.now).unwrap();
    assert_eq!(errand.why, Why::Fallback);
    world.schedule.offered_here(world.now);
    assert_eq!(world.schedule.local(world.now), None, "one at a time");
    world.schedule.local_ended();
    world.schedule.local_done(errand, Duration::from_millis(100));
    world.schedule.offered_here(world.now);
    assert!(world.schedule.local(world.now).is_some());

    let mut strict = World::new(&costs(8), &[], 0);
    strict.schedule.policy.eager = false;
    let mut strict = strict.with_cluster();
    strict.schedule.offered_here(strict.now);
    assert_eq!(strict.schedule.local(strict.now), None);
}

#[test]
fn the_search_delays_no_local_slot() {
    let mut world = World::new(&costs(8), &[], 2);
    world.schedule = world.schedule.with_cluster(world.now);
    assert_eq!(world.schedule.local_wanted(world.now), 2);
}

#[test]
fn a_host_begins_with_the_canary_and_gets_the_biggest_jobs_beside_it() {
    let mut world = World::new(&costs(8), &[], 0).with_cluster();
    let host = world.schedule.add_host(world.now);
    assert_eq!(world.schedule.belief(host), Belief::No);
    assert!(matches!(world.grant(host), Some(Order::Prove { job: JobId(2), .. })));
    assert_eq!(world.schedule.belief(host), Belief::Pending);
    assert!(matches!(world.grant(host), Some(Order::Run { job: JobId(7), .. })));
    world.schedule.proved(host, Duration::from_millis(100));
    assert_eq!(world.schedule.belief(host), Belief::Yes);
}

#[test]
fn requests_are_no_more_than_the_jobs_that_wait() {
    let mut world = World::new(&costs(3), &[], 0).with_cluster();
    let host = world.proven_host();
    assert_eq!(world.wanted(), 2, "two wait, one was the canary");
    assert_eq!(world.fill(host).len(), 2);
    assert_eq!(world.wanted(), 0);
    assert_eq!(world.grant(host), None, "a grant that comes late is given back");
}

#[test]
fn a_warm_cluster_is_used_whole() {
    let mut world = World::new(&costs(100), &[], 0).with_cluster();
    let host = world.proven_host();
    assert_eq!(world.fill(host).len(), 99);
}

#[test]
fn the_environment_goes_to_two_hosts_at_a_time() {
    let mut world = World::new(&costs(20), &[], 0).with_cluster();
    for _ in 0..2 {
        assert!(world.wanted() > 0);
        let host = world.schedule.add_host(world.now);
        assert!(world.schedule.granted(host, false, world.now).is_some());
    }
    assert_eq!(world.wanted(), 0);
    world.schedule.shipped(Some(Duration::from_secs(1)));
    assert!(world.wanted() > 0);
}

#[test]
fn a_short_link_sends_no_environment() {
    // 0.13 s of work for two local slots.
    let mut world = World::new(&[10_000; 5], &[], 2).with_cluster();
    assert_eq!(world.wanted(), 0);
    assert_eq!(world.drain_locally().len(), 5);
    let mut long = World::new(&costs(20), &[], 2).with_cluster();
    assert!(long.wanted() > 0);
}

#[test]
fn what_is_not_worth_an_environment_is_no_fallback() {
    let mut world = World::new(&[10_000; 5], &[], 2).with_cluster();
    assert_eq!(world.wanted(), 0);
    assert!(world.drain_locally().iter().all(|errand| errand.why == Why::Ordinary));
}

#[test]
fn an_offer_of_this_machine_means_that_the_hosts_are_full() {
    let mut world = World::new(&costs(20), &[], 0).with_cluster();
    let host = world.proven_host();
    for _ in 0..4 {
        assert!(world.wanted() > 0);
        assert!(world.grant(host).is_some());
    }
    world.schedule.offered_here(world.now);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.wanted(), 0, "as many as it has slots");
    world.schedule.grant_ended(true, world.now);
    assert_eq!(world.wanted(), 1);
}

#[test]
fn a_short_rest_of_work_still_goes_where_the_environment_is() {
    let mut world = World::new(&costs(20), &[], 2).with_cluster();
    let host = world.proven_host();
    while world.schedule.pending.len() > 1 {
        world.schedule.local(world.now).unwrap();
    }
    assert_eq!(world.wanted(), 1);
    assert!(world.grant(host).is_some());
}

#[test]
fn a_lost_job_is_asked_for_three_times_and_then_goes_home() {
    let mut world = World::new(&costs(3), &[], 0).with_cluster();
    let host = world.proven_host();
    for attempt in 1..=3 {
        world.pass(REST);
        let Some(Order::Run { job, .. }) = world.grant(host) else { panic!("attempt {attempt}") };
        world.schedule.grant_ended(false, world.now);
        let verdict = world.schedule.remote_failed(job, host, Fault::EnvironmentGone, world.now);
        assert_eq!(verdict, if attempt < 3 { Verdict::Elsewhere } else { Verdict::Locally });
    }
    let errand = world.schedule.local(world.now).unwrap();
    assert_eq!(errand.why, Why::Fallback);
}

#[test]
fn a_host_that_loses_its_compiler_each_time_is_left_alone_for_a_while() {
    let mut world = World::new(&costs(9), &[], 0).with_cluster();
    let host = world.proven_host();
    for _ in 0..2 {
        world.pass(REST);
        let Some(Order::Run { job, .. }) = world.grant(host) else { panic!() };
        world.schedule.grant_ended(false, world.now);
        world.schedule.remote_failed(job, host, Fault::EnvironmentGone, world.now);
        // Others may have pushed it out; that is no failure of the host.
        assert!(world.schedule.proven(host));
    }
    world.pass(REST / 2);
    assert_eq!(world.grant(host), None);
}

#[test]
fn a_compile_error_is_confirmed_here_at_once() {
    let mut world = World::new(&costs(3), &[], 0).with_cluster();
    let host = world.proven_host();
    let Some(Order::Run { job, .. }) = world.grant(host) else { panic!() };
    world.schedule.grant_ended(false, world.now);
    assert_eq!(world.schedule.remote_failed(job, host, Fault::Compile, world.now), Verdict::Locally);
}

#[test]
fn a_job_whose_only_host_had_failed_it_goes_home_when_that_host_is_offered_again() {
    let mut world = World::new(&costs(2), &[], 0).with_cluster();
    let host = world.proven_host();
    let Some(Order::Run { job, .. }) = world.grant(host) else { panic!() };
    world.schedule.grant_ended(false, world.now);
    assert_eq!(world.schedule.remote_failed(job, host, Fault::Misbehaved, world.now), Verdict::Elsewhere);
    world.pass(REST);
    assert!(matches!(world.grant(host), Some(Order::Prove { .. })), "it broke the rules: the canary again");
    world.schedule.proved(host, Duration::from_millis(100));
    assert_eq!(world.grant(host), None);
    assert_eq!(world.schedule.local(world.now), Some(Errand { job, why: Why::Fallback }));
}

#[test]
fn where_nobody_can_take_jobs_they_run_here_and_hosts_that_come_are_used_later() {
    let mut world = World::new(&costs(8), &[], 0).with_cluster();
    world.schedule.nobody(world.now);
    assert_eq!(world.wanted(), 0);
    assert!(world.schedule.local_wanted(world.now) > 0);
    assert_eq!(world.schedule.local(world.now).unwrap().why, Why::Fallback);
    world.pass(NOBODY_REST);
    assert!(world.wanted() > 0);
}

#[test]
fn a_queue_that_does_not_move_is_waited_for_only_so_long() {
    let mut world = World::new(&costs(8), &[], 0).with_cluster();
    assert!(world.wanted() > 0);
    assert_eq!(world.schedule.local_wanted(world.now), 0);
    world.pass(PATIENCE);
    assert!(world.schedule.local_wanted(world.now) > 0);
    assert!(world.wanted() > 0, "what comes of it is still taken");
}

#[test]
fn a_lost_scheduler_takes_no_job_from_its_hosts_and_is_asked_again_when_found() {
    let mut world = World::new(&costs(8), &[], 0).with_cluster();
    let host = world.proven_host();
    let Some(Order::Run { job, .. }) = world.grant(host) else { panic!() };
    world.schedule.cluster_lost(world.now);
    assert_eq!(world.wanted(), 0);
    world.schedule.grant_ended(true, world.now);
    world.schedule.remote_done(job, host, Duration::from_millis(100));
    world.schedule.cluster_joined(world.now);
    assert!(world.wanted() > 0);
    world.schedule.cluster_over(world.now);
    assert_eq!(world.wanted(), 0);
    assert!(world.schedule.local_wanted(world.now) > 0);
}

#[test]
fn slots_that_somebody_else_takes_make_the_link_hold_less() {
    let mut world = World::new(&costs(100), &[], 0).with_cluster();
    let host = world.proven_host();
    let mut held: Vec<_> = (0..8)
        .map(|_| {
            assert!(world.wanted() > 0);
            let Some(Order::Run { job, .. }) = world.grant(host) else { panic!() };
            job
        })
        .collect();
    // Three end while we wait for more, and nothing comes back.
    world.pass(Duration::from_secs(1));
    for job in held.drain(..3) {
        assert!(world.wanted() > 0);
        world.schedule.grant_ended(true, world.now);
        world.schedule.remote_done(job, host, Duration::from_millis(100));
    }
    assert!(world.wanted() > 0);
    world.pass(Duration::from_millis(300));
    assert_eq!(world.wanted(), 0, "five are held, which is more than other users have");
    for job in held.drain(..3) {
        world.schedule.grant_ended(true, world.now);
        world.schedule.remote_done(job, host, Duration::from_millis(100));
    }
    assert_eq!(world.wanted(), 2, "up to as many as another user has");
}

#[test]
fn a_cluster_works_beside_listed_hosts() {
    let mut world = World::new(&costs(20), &[2], 0).with_cluster();
    let granted = world.proven_host();
    world.prove(0);
    assert_eq!(world.runs().len(), 2, "two slots of the listed host");
    assert!(world.fill(granted).len() >= 10);
}

/// Neither the scheduler's answer nor its absence makes a fallback of what was never meant for it.
#[test]
fn work_that_is_not_worth_an_environment_is_ordinary_here() {
    for found in [true, false] {
        let mut world = World::new(&[1000, 2000, 3000], &[], 1);
        world.schedule = world.schedule.with_cluster(world.now);
        if found {
            world.schedule.cluster_joined(world.now);
        }
        assert_eq!(world.wanted(), 0);
        for _ in 0..3 {
            let errand = world.schedule.local(world.now).unwrap();
            assert_ne!(errand.why, Why::Fallback);
            world.schedule.local_ended();
            world.schedule.local_done(errand, Duration::from_millis(50));
            assert_eq!(world.wanted(), 0);
        }
        let canary = world.schedule.settle_canary(world.now);
        assert!(canary.is_none_or(|(_, why)| why == Why::Ordinary), "{canary:?}");
        assert!(world.schedule.finished());
    }
}
