//! Hosts, networks and schedulers that go away while a link has jobs there.

use crate::support::{Cluster, Linked, SCHEDULER, require_cluster};
use crate::trial::{Trial, expect_remote, expect_told, reasons, shell, wait_for_compiler};

#[test]
fn hosts_that_go_away() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::start(3);
    let (trial, short) = (Trial::long(8), Trial::short());
    cluster.hosts().iter().for_each(|host| short.warm(&cluster, host));
    let [killed, cut, good] = [0, 1, 2].map(|number| cluster.host(number));

    // Its machine ends with all that runs there.
    let link = trial.start(&cluster, trial.link().option("--fallback=off"));
    wait_for_compiler(killed);
    killed.suspend();
    killed.kill();
    let linked = link.end();
    expect_remote(&linked);
    assert!(reasons(&linked, killed).contains("the connection was"), "{:#}", linked.report());
    cluster.wait_until("host-1 is gone", |listed| listed.len() == 2);
    cluster.expect_nothing_left();

    // Noticed by the kernel, long before the job's deadline.
    let link = trial.start(&cluster, trial.link().option("--fallback=off"));
    wait_for_compiler(cut);
    cut.cut();
    let linked = link.end();
    expect_remote(&linked);
    assert!(reasons(&linked, cut).contains("the connection was lost: "), "{:#}", linked.report());
    assert_eq!(reasons(&linked, good), "[]");
    cluster.expect_nothing_left();

    // Jobs that run end well without their daemon.
    let link = trial.start(&cluster, trial.link());
    wait_for_compiler(good);
    good.kill_daemon();
    let linked = link.end();
    assert_eq!(linked.total("fallbacks"), linked.total("local"), "{:#}", linked.report());
    cluster.wait_until("host-3 is gone", |listed| listed.iter().all(|one| one.name != good.name));
    cluster.expect_nothing_left();
}

/// A link that is under way when something happens to its scheduler: what its hosts do not give runs here.
#[track_caller]
fn disturbed(way: &str, words: &str, disturb: impl FnOnce(&mut Cluster)) -> (Cluster, Linked) {
    let mut cluster = Cluster::start(1);
    Trial::short().warm(&cluster, cluster.host(0));
    let trial = Trial::long(5);
    let link = trial.start(&cluster, trial.by(way));
    wait_for_compiler(cluster.host(0));
    disturb(&mut cluster);
    let linked = link.end();
    assert!(linked.total("fallbacks") >= 1, "{:#}", linked.report());
    expect_told(&linked, words);
    (cluster, linked)
}

const LOST: &str = "the connection was";

/// What a scheduler broadcasts that was started in 1970. One that hears it sends all its daemons away.
const BETTER_SCHEDULER: &str = r#"
{ printf 'ICF\53\0\0\0\0\0\0\0\1ICECREAM'; head -c 248 /dev/zero; } >/tmp/icf
cat /tmp/icf >/dev/udp/10.77.0.2/8765
"#;

fn a_scheduler_that_dies() {
    disturbed(SCHEDULER, LOST, Cluster::end_scheduler);
}

/// Its hosts come back after half a minute.
fn a_scheduler_that_is_started_again() {
    let (cluster, _) = disturbed(SCHEDULER, LOST, Cluster::start_scheduler);
    cluster.expect_nothing_left();
}

fn a_better_scheduler_that_takes_over() {
    let (cluster, linked) = disturbed("auto", LOST, |cluster| shell(cluster, BETTER_SCHEDULER));
    assert!(linked.report()["icecream"]["way"].to_string().contains("found by broadcast"), "{:#}", linked.report());
    cluster.expect_nothing_left();
}

/// All at once, as they wait most of the time.
#[test]
fn schedulers_that_go_away() {
    if !require_cluster() {
        return;
    }
    std::thread::scope(|scope| {
        for test in [a_scheduler_that_dies, a_scheduler_that_is_started_again, a_better_scheduler_that_takes_over] {
            scope.spawn(test);
        }
    });
}
