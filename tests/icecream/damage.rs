//! Environments that are thrown out, damaged, or do not fit on a host's disk.

use crate::support::{Cluster, Host, Node, require_cluster};
use crate::through::shipments;
use crate::trial::{Trial, expect_remote, expect_told, name, reasons};

/// The environment that the host has.
fn environment(host: &Node) -> String {
    host.environments().pop().unwrap_or_else(|| panic!("{} has no environment:\n{}", host.name, host.log()))
}

/// Cuts a file of an environment to this size.
fn cut(host: &Node, file: &str, size: u64) {
    let path = host.environment_folders()[0].join(file);
    let file = std::fs::File::options().write(true).open(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    file.set_len(size).expect("it is ours");
}

#[test]
fn environments_that_are_gone_damaged_or_do_not_fit() {
    if !require_cluster() {
        return;
    }
    let hosts = [Host::default(), Host::default(), Host::default().disk(100)];
    let cluster = hosts.into_iter().fold(Cluster::setup(), |setup, host| setup.host(host)).start();
    let (trial, short) = (Trial::long(8), Trial::short());
    let [first, second, small] = [0, 1, 2].map(|number| cluster.host(number));

    // Its disk is full before the environment is whole, which a stock host does not notice.
    let link = short.link().env("ICECC_PREFERRED_HOST", &small.name);
    let linked = short.run(&cluster, link);
    assert_eq!(linked.total("fallbacks"), linked.total("jobs"), "{:#}", linked.report());
    let unfit = "the environment does not work there";
    assert!(reasons(&linked, small).contains(unfit), "{:#}", linked.report());
    let shipment = &linked.report()["icecream"]["shipments"][0];
    assert!(shipment["host"] == name(small) && shipment["reason"].as_str().is_some_and(|it| it.contains(unfit)));
    expect_told(&linked, &format!("no host {} (ICECC_PREFERRED_HOST)", small.name));
    cluster.expect_nothing_left();

    // Thrown out behind the scheduler's back.
    short.warm(&cluster, first);
    short.warm(&cluster, second);
    first.damage(&environment(first), "usr/bin/as");
    let link = short.link().option("--fallback=off").env("ICECC_PREFERRED_HOST", &first.name);
    let linked = short.run(&cluster, link);
    expect_remote(&linked);
    assert!(reasons(&linked, first).contains("installed environment removed"), "{:#}", linked.report());
    // Jobs that fail together make the host tell its scheduler more than once.
    let again = shipments(&linked);
    assert!(!again.is_empty() && again.iter().all(|host| *host == name(first)), "{again:?}");
    cluster.expect_nothing_left();

    // Damaged there: the host says that it has it, and it was found good once.
    let library = "usr/lib/llvm-22/bin/clang";
    cut(first, library, 100);
    let linked = trial.run(&cluster, trial.link().option("--fallback=off"));
    expect_remote(&linked);
    assert!(reasons(&linked, first).contains("its environment is damaged"), "{:#}", linked.report());
    assert!(linked.stderr.contains("its environment is damaged"), "{}", linked.stderr);
    assert_eq!(reasons(&linked, second), "[]");
    // Nobody but the host itself may send it again.
    assert!(shipments(&linked).iter().all(|host| *host == name(small)), "{:#}", linked.report());
    cluster.expect_nothing_left();
}
