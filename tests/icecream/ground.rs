//! The ground that the other tests stand on: hosts see nothing of the client's, clusters nothing of each other, and what
//! a link could leave behind is found.

use std::process::{Command, Stdio};

use crate::holder::Holder;
use crate::support::{Cluster, Host, LOCAL_SOCKET, Listed, Volunteer, Workdir, require, require_cluster, run};

#[test]
fn hosts_see_neither_the_clients_files_nor_a_compiler() {
    if !require_cluster() {
        return;
    }
    let file = Workdir::new().write("module.o", "secret");
    let cluster = Cluster::setup().hosts(1).local(1).start();
    let host = |path: &str| cluster.host(0).folder(path);
    assert!(!host(&file.display().to_string()).exists());
    assert!(!host(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").exists());
    assert!(!host("/usr/lib/llvm-22/bin/clang").exists());
    // The client's machine sees all of them.
    run(&mut cluster.inside(Command::new("test").arg("-e").arg(env!("CARGO_MANIFEST_DIR"))));
    run(&mut cluster.inside(Command::new("test").args(["-S", LOCAL_SOCKET])));
}

/// The stock client's job runs on a stock host, beside another cluster at the same addresses.
#[test]
fn a_stock_client_is_served() {
    if !require_cluster() {
        return;
    }
    let other = std::thread::spawn(|| Cluster::setup().host(Host::default().slots(3)).start());
    let cluster = Cluster::setup().hosts(1).local(0).start();
    let other = other.join().expect("the other cluster starts");
    let folder = Workdir::new();
    folder.write("unit.c", "int main(void) { return 0; }\n");
    let mut icecc = Command::new("icecc");
    icecc.current_dir(folder.path()).args(["gcc", "-O2", "-c", "unit.c"]).env("ICECC_PREFERRED_HOST", "host-1");
    run(&mut cluster.inside(&icecc));
    assert!(folder.join("unit.o").exists());
    assert_eq!(cluster.host(0).environments().len(), 1);
    cluster.expect_nothing_left();

    assert!(other.host(0).environments().is_empty());
    assert_eq!(other.listed()[0].slots, 3);
}

#[test]
fn a_held_slot_of_the_local_iceccd_is_found() {
    if !require_cluster() || !require(&["python3"]) {
        return;
    }
    let cluster = Cluster::setup().local(1).start();
    cluster.expect_nothing_left();
    let holder = Holder::start(&cluster);
    assert_eq!(cluster.left().len(), 1, "{:?}", cluster.left());

    drop(holder);
    cluster.expect_nothing_left();
}

#[test]
fn the_scheduler_s_list_is_understood() {
    let answer = "200-ICECC 1.4.0: 9s uptime, 3 hosts, 1 jobs in queue (1 total).\n \
         host-2 (10.77.0.12:10245) [x86_64] speed=0.00 jobs=0/2 load=80\n \
         host-1 (10.77.0.11:10245) [i686] speed=0.00 jobs=1/2 load=82 busy installing since 1 s\n   \
         1 WAIT sub:probe on:host-1 x (1).o\n";
    let listed = Listed::parse_all(answer);
    assert_eq!(listed.len(), 2, "{listed:?}");
    let first = &listed[1];
    assert_eq!((first.name.as_str(), first.address.as_str()), ("host-1", "10.77.0.11:10245"));
    assert_eq!((first.jobs, first.slots, first.load, first.installing), (1, 2, 82, true));
}

/// Whether a connection to the first host comes about within a second.
fn answers(cluster: &Cluster) -> bool {
    let connect = "exec 3<>/dev/tcp/10.77.0.11/10245";
    let mut command = cluster.inside(Command::new("timeout").args(["1", "bash", "-c", connect]));
    command.stderr(Stdio::null()).status().expect("nsenter starts").success()
}

#[test]
fn hosts_are_cut_off_killed_and_replaced() {
    if !require_cluster() {
        return;
    }
    let mut cluster = Cluster::start(1);
    assert!(answers(&cluster));
    cluster.host(0).cut();
    assert!(!answers(&cluster));
    cluster.host(0).mend();
    assert!(answers(&cluster));

    cluster.start_host(&Host::default().at_the_address_of(0, 10246));
    let listed = cluster.listed();
    assert!(listed.iter().any(|one| one.name == "host-2" && one.address == "10.77.0.11:10246"), "{listed:?}");
    cluster.host(0).kill_daemon();
    cluster.wait_until("host-1 is gone", |listed| listed.iter().all(|one| one.name == "host-2"));
    assert!(!answers(&cluster));
}

/// The other kinds of machines are what they are said to be.
#[test]
fn particular_hosts() {
    if !require_cluster() {
        return;
    }
    let hosts = [Host::default().platform("i686"), Host::default().no_chroot(), Host::default().disk(100)];
    let cluster = hosts.into_iter().fold(Cluster::setup().netname("other"), |setup, host| setup.host(host)).start();
    let listed = cluster.listed();
    let one = |name: &str| listed.iter().find(|one| one.name == name).expect("it is listed");
    assert_eq!(one("host-1").platform, "i686");
    assert_eq!(one("host-2").address, "10.77.0.12:0");
    assert_eq!(one("host-3").address, "10.77.0.13:10245");
}

#[test]
fn a_volunteer_beside_the_cluster() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::setup().without_scheduler().start();
    let volunteer = Volunteer::setup().beside(&cluster).start();
    let reach = format!("exec 3<>/dev/tcp/127.0.0.1/{}", volunteer.port());
    run(&mut cluster.inside(Command::new("bash").args(["-c", &reach])));
}
