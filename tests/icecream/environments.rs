//! The compiler on its way to hosts: where it is lacking, once, and not against the user's will.

use crate::support::{
    Cluster, LOCAL_SOCKET, Link, Linked, Program, SCHEDULER, Workdir, expect_all_local, expect_all_remote,
    require_cluster,
};
use crate::through::{busy_program, run, shipments, through};

/// The environment in a link's report.
#[track_caller]
fn environment(linked: &Linked) -> (&str, u64) {
    let environment = &linked.report()["icecream"]["environment"];
    let name = environment["name"].as_str().unwrap_or_else(|| panic!("no environment in {}", linked.report()));
    (name, environment["packed_bytes"].as_u64().expect("it has a size"))
}

/// A first link ever: the environment is made and goes to each host once. The next one finds it there.
#[test]
fn it_is_made_once_and_goes_to_each_host_once() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::start(2);
    let program = busy_program(7, 60);
    let in_process = Link::in_process(&program).run().expect_success();
    let cache = Workdir::new();
    let link = || {
        let link = through(&program, SCHEDULER).option("--local-slots=0").env("XDG_CACHE_HOME", cache.path());
        let linked = run(&cluster, link).expect_success();
        linked.expect_same_bytes(&in_process);
        linked
    };
    let first = link();
    let sent_to = shipments(&first);
    let hosts: Vec<String> = cluster.hosts().iter().map(|host| format!("{}:{}", host.address, host.port)).collect();
    assert!(!sent_to.is_empty() && sent_to.iter().all(|host| hosts.contains(host)), "{sent_to:?}");
    let (name, packed) = environment(&first);
    for shipment in first.report()["icecream"]["shipments"].as_array().expect("shipments") {
        let bytes = shipment["bytes"].as_u64().expect("bytes");
        assert!((packed..packed + packed / 100).contains(&bytes), "{shipment}");
        assert!(shipment["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{shipment}");
    }
    assert!(first.total("bytes_sent") < packed, "the environment is no job's: {}", first.report());
    let files = cache.files();

    let second = link();
    expect_all_remote(&second);
    assert_eq!(environment(&second), (name, packed));
    assert_eq!(cache.files(), files);
    // A host that the first link did not need may get it now, and no other.
    let twice = shipments(&second).into_iter().filter(|host| sent_to.contains(host)).count();
    assert_eq!(twice, 0, "{}", second.report());
    for host in cluster.hosts() {
        assert!(host.environments().iter().all(|kept| kept == name), "{:?}", host.environments());
    }
    cluster.expect_nothing_left();
}

/// Sixty megabytes are not sent for the sake of a moment's work. When the user does not wish it, hosts without the
/// environment are let go, and none of them is left waiting for it.
#[test]
fn it_is_not_sent_where_that_is_no_gain_or_against_the_users_will() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::setup().hosts(2).local(0).start();
    let program = Program::small_c(&["-O2"]);
    let in_process = Link::in_process(&program).run().expect_success();
    for way in [SCHEDULER, &format!("unix:{LOCAL_SOCKET}")] {
        let linked = run(&cluster, through(&program, way).option("--local-slots=1")).expect_success();
        expect_all_local(&linked);
        linked.expect_same_bytes(&in_process);
        assert!(shipments(&linked).is_empty());
    }

    let link = || through(&program, SCHEDULER).option("--icecream-ship=off").option("--local-slots=0");
    let cold = run(&cluster, link()).expect_success();
    cold.expect_same_bytes(&in_process);
    assert_eq!((cold.total("local"), cold.total("fallbacks")), (4, 4));
    assert!(cold.stderr.contains("--icecream-ship is off"), "{}", cold.stderr);
    cluster.expect_nothing_left();
    assert!(cluster.hosts().iter().all(|host| host.environments().is_empty()));

    // Whoever has it is used, and nobody else.
    let warm = through(&program, SCHEDULER).remote_only().env("ICECC_PREFERRED_HOST", "host-2");
    assert_eq!(shipments(&run(&cluster, warm).expect_success()), ["10.77.0.12:10245"]);
    let linked = run(&cluster, link()).expect_success();
    linked.expect_same_bytes(&in_process);
    assert!(shipments(&linked).is_empty());
    cluster.expect_nothing_left();
    assert!(cluster.host(0).environments().is_empty());
}
