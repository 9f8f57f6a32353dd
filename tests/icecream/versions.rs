//! The versions of the protocol that clusters in the field speak.

use crate::support::{Cluster, Host, LOCAL_SOCKET, Link, Program, SCHEDULER, expect_all_remote, require_cluster};
use crate::through::{run, shipments, through};

/// Each release's, and those in which a message changed its shape. The stock daemons agree on what we offer at most.
const VERSIONS: [u32; 6] = [30, 35, 39, 40, 42, 43];

#[test]
fn every_version_over_a_stock_cluster() {
    if !require_cluster() {
        return;
    }
    let hosts = VERSIONS.iter().fold(Cluster::setup(), |setup, _| setup.host(Host::default().slots(1)));
    let cluster = hosts.local(0).start();
    let program = Program::small_c(&["-O2", "-g"]);
    let in_process = Link::in_process(&program).run().expect_success();
    for (host, version) in cluster.hosts().iter().zip(VERSIONS) {
        // A host of its own, to which the environment travels in that version.
        let preferred = ("ICECC_PREFERRED_HOST", host.name.as_str());
        let shipped = |way: &str| {
            let link = through(&program, way).remote_only().option(format!("--icecream-protocol={version}"));
            let linked = run(&cluster, link.env(preferred.0, preferred.1)).expect_success();
            expect_all_remote(&linked);
            linked.expect_same_bytes(&in_process);
            shipments(&linked)
        };
        assert_eq!(shipped(SCHEDULER), [format!("{}:{}", host.address, host.port)], "version {version}");
        assert!(shipped(&format!("unix:{LOCAL_SOCKET}")).is_empty(), "version {version}");
        let spoken = format!("protocol version: {version} ");
        cluster.scheduler().wait_for_log(&spoken).unwrap_or_else(|log| panic!("no {spoken}in {log}"));
    }
    cluster.expect_nothing_left();
}
