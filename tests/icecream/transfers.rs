//! Environments on their way, at a scripted scheduler that counts: sent where it says that one is missing, always then,
//! once, and nowhere else.

use crate::bench::{Bench, Phase};
use crate::support::{FakeCluster, FakeHost, Manner, require_linker};

#[test]
fn each_host_that_lacks_the_environment_gets_it_once() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let honest = || FakeHost::honest(&bench.object);
    let cluster = FakeCluster::start(vec![honest().bare(true), honest(), honest().bare(true)]);
    for _ in 0..2 {
        let ran = bench.run(12, "", &[&cluster.option(), "--fallback=off"]);
        ran.expect_right(&bench);
        cluster.expect_nothing_left();
    }
    assert_eq!([0, 1, 2].map(|host| cluster.transfers(host)), [1, 0, 1]);
}

#[test]
fn several_links_at_once_have_names_of_their_own_and_send_it_once() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let honest = || FakeHost::honest(&bench.object);
    let cluster = FakeCluster::start(vec![honest().bare(true), honest()]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let ran = bench.run(6, "", &[&cluster.option(), "--fallback=off"]);
                ran.expect_right(&bench);
            });
        }
    });
    cluster.expect_nothing_left();
    let mut names = cluster.told().names;
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(cluster.transfers(0), 1);
}

#[test]
fn an_environment_that_does_not_work_on_a_host_is_reported_and_the_job_runs_elsewhere() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let honest = || FakeHost::honest(&bench.object);
    let cluster = FakeCluster::start(vec![honest().bare(false), honest()]);
    let ran = bench.run(6, "", &[&cluster.option(), "--fallback=off"]);
    let words = "the environment does not work there";
    ran.expect_right(&bench).expect_failed(&cluster.host(0), Phase::Canary, words);
    assert_eq!(ran.report["icecream"]["shipments"][0]["reason"], words, "{:#}", ran.report);
    assert_eq!(cluster.told().bad_hosts.len(), 1);
    assert_eq!(cluster.transfers(0), 1, "it is not tried again");
    cluster.expect_nothing_left();
}

/// It was thrown out of the host's cache between two jobs: the host says so, and the scheduler then that it lacks it.
#[test]
fn an_environment_that_is_gone_is_sent_again_when_the_scheduler_says_so() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let good = Manner::give(&bench.object);
    let host = FakeHost::new(move |connection| if connection == 3 { Manner::Forget } else { good.clone() });
    let cluster = FakeCluster::start(vec![host]);
    let ran = bench.run(6, "", &[&cluster.option(), "--fallback=off"]);
    ran.expect_right(&bench).expect_failed(&cluster.host(0), Phase::Work, "no longer has the environment");
    assert_eq!(ran.report["totals"]["remote"], 6, "{:#}", ran.report);
    assert_eq!(cluster.transfers(0), 1);
    cluster.expect_nothing_left();
}
