//! Nobody there: no scheduler, another cluster's scheduler, no host that could take a job.

use crate::support::{CLIENT, Cluster, Host, Linked, SCHEDULER, require_cluster};
use crate::trial::{Trial, expect_local, expect_told};

#[track_caller]
fn expect_fallbacks(linked: &Linked, words: &str) {
    expect_local(linked);
    assert_eq!(linked.total("fallbacks"), linked.total("jobs"));
    expect_told(linked, words);
}

#[test]
fn no_scheduler_or_another_cluster_s_or_one_without_hosts() {
    if !require_cluster() {
        return;
    }
    let mut cluster = Cluster::setup().without_scheduler().start();
    let trial = Trial::short();
    let link = |way: &str, words: &str| expect_fallbacks(&trial.run(&cluster, trial.by(way)), words);
    link("auto", "no icecream scheduler answered within 3 s for the netname ICECREAM on switch");
    link("unix:/run/icecc/iceccd.socket", "no iceccd at /run/icecc/iceccd.socket: No such file or directory");
    link(CLIENT, "no connection to 10.77.0.1:8765: Connection refused");
    link(SCHEDULER, "no connection to 10.77.0.2:8765");
    link("nowhere.invalid", "the name");

    cluster.start_scheduler();
    let netname = trial.by("auto").option("--icecream-netname=other");
    expect_fallbacks(&trial.run(&cluster, netname), "for the netname other on switch, only for ICECREAM");
    for way in ["auto", SCHEDULER] {
        let linked = trial.run(&cluster, trial.by(way));
        expect_fallbacks(&linked, "the cluster has no host that could take jobs of this link");
    }
    cluster.expect_nothing_left();
}

#[test]
fn hosts_of_another_platform_and_hosts_that_cannot_chroot() {
    if !require_cluster() {
        return;
    }
    let hosts = [Host::default().platform("i686"), Host::default().no_chroot()];
    let cluster = hosts.into_iter().fold(Cluster::setup(), |setup, host| setup.host(host)).start();
    let trial = Trial::short();
    let linked = trial.run(&cluster, trial.link());
    expect_fallbacks(&linked, "it must be an x86_64 machine with icecream 1.3 or newer that is allowed to chroot");
    let preferred = trial.link().env("ICECC_PREFERRED_HOST", "host-1");
    expect_fallbacks(&trial.run(&cluster, preferred), "the cluster has no host host-1 (ICECC_PREFERRED_HOST)");
    for host in cluster.hosts() {
        assert!(host.environments().is_empty(), "{}", host.log());
    }
    cluster.expect_nothing_left();
}
