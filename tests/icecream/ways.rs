//! Every way in, with every job on the cluster's hosts: the same bytes as a local compile.

use crate::support::{
    Cluster, LOCAL_SOCKET, Link, Linked, Program, SCHEDULER, SMALL_C_OUTPUT, Volunteer, Workdir, expect_all_local,
    expect_all_remote, expect_same_objects, require, require_cluster,
};
use crate::through::{busy_program, hosts, run, shared, through};

/// What a link's objects and program have to equal.
struct Expected {
    local: Linked,
    in_process: Linked,
}

impl Expected {
    #[track_caller]
    fn of(program: &Program) -> Self {
        let local = Link::of(program).argument("-Wl,--save-temps").output("local").run().expect_success();
        expect_all_local(&local);
        Self { local, in_process: Link::in_process(program).run().expect_success() }
    }

    /// The link ran all its jobs on hosts, and they made what they had to.
    #[track_caller]
    fn expect(&self, remote: &Linked) {
        expect_all_remote(remote);
        expect_same_objects(&self.local, remote);
        remote.expect_same_bytes(&self.in_process);
    }
}

/// A link with all its jobs on hosts, which keeps its objects.
#[track_caller]
fn link(cluster: &Cluster, link: Link) -> Linked {
    run(cluster, link.remote_only().argument("-Wl,--save-temps").output("remote")).expect_success()
}

#[test]
fn a_scheduler_a_local_iceccd_and_what_is_found_by_itself() {
    if !require_cluster() {
        return;
    }
    let cluster = shared();
    let program = Program::small_c(&["-O2", "-g"]);
    let expected = Expected::of(&program);
    let daemon = format!("unix:{LOCAL_SOCKET}");
    for (way, through_whom) in [(SCHEDULER, SCHEDULER), (&daemon, LOCAL_SOCKET), ("auto", LOCAL_SOCKET)] {
        let linked = link(&cluster, through(&program, way));
        expected.expect(&linked);
        assert_eq!(linked.output(), SMALL_C_OUTPUT);
        let way = linked.report()["icecream"]["way"].as_str().expect("it was found");
        assert!(way.contains(through_whom), "{way}");
        cluster.expect_nothing_left();
    }
}

/// No iceccd runs on this machine.
#[test]
fn a_scheduler_that_is_found_by_itself() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::start(1);
    let program = Program::small_c(&["-O2", "-g"]);
    let expected = Expected::of(&program);
    let settings = [Some(("ICECC_SCHEDULER", SCHEDULER)), Some(("USE_SCHEDULER", SCHEDULER)), None];
    for setting in settings {
        let mut found = through(&program, "auto");
        if let Some((name, value)) = setting {
            found = found.env(name, value);
        }
        let linked = link(&cluster, found);
        expected.expect(&linked);
        let way = linked.report()["icecream"]["way"].as_str().expect("it was found");
        assert!(way.contains(SCHEDULER) && setting.is_none_or(|(name, _)| way.contains(name)), "{way}");
    }
    cluster.expect_nothing_left();
}

/// Languages, debug information, archives and absolute paths: what is in the bundle, not how it travels.
#[test]
fn programs_of_several_shapes() {
    if !require_cluster() {
        return;
    }
    let cluster = shared();
    let programs = [
        Program::small_cpp(&["-O2", "-g"]),
        Program::small_c(&["-O3", "-gsplit-dwarf"]).archive("parts.a", &["twice.o", "add.o"], false),
        Program::small_c(&["-O1", "-fPIC"]).archive("parts.a", &["twice.o", "add.o"], true),
        Program::small_c(&["-O2", "-ffunction-sections"]).spelled(|folder, input| folder.join(input)),
    ];
    for program in &programs {
        Expected::of(program).expect(&link(&cluster, through(program, SCHEDULER)));
    }
    cluster.expect_nothing_left();
}

/// The distcc hosts' compilers take their time, so that the cluster has its part although it is found later.
#[test]
fn a_cluster_beside_two_distccd() {
    if !require_cluster() || !require(&["distccd"]) {
        return;
    }
    let cluster = shared();
    let tools = Workdir::new();
    let slow =
        "#!/bin/sh\ncase \"$*\" in *--version*) ;; *) sleep 0.3 ;; esac\nexec /usr/lib/llvm-22/bin/clang \"$@\"\n";
    tools.write_executable("clang-22", slow);
    let volunteer = || Volunteer::setup().beside(&cluster).jobs(1).compilers(tools.path()).start();
    let volunteers = [volunteer(), volunteer()];
    let program = busy_program(23, 60);
    let expected = Expected::of(&program);
    let both = volunteers.iter().fold(through(&program, SCHEDULER), |link, volunteer| link.hosts(volunteer.host()));
    let linked = link(&cluster, both);
    expected.expect(&linked);
    let jobs = |of: &str| hosts(&linked).iter().filter(|host| host.0.starts_with(of)).map(|host| host.1).sum::<u64>();
    assert!(jobs("10.77.0.") > 0 && jobs("127.0.0.1:") > 0, "{:?}", hosts(&linked));
    assert_eq!(jobs("10.77.0.") + jobs("127.0.0.1:"), 24);
    cluster.expect_nothing_left();
}
