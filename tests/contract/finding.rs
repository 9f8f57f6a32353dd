//! Finding a real scheduler by broadcast, in network namespaces of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use thinbridge::config::{Icecream, Place};
use thinbridge::fleet::icecream::{Surroundings, Way, find};

use crate::support::{require, run, skip};

/// Set in the process that runs inside of the namespaces.
const INSIDE: &str = "THINBRIDGE_TEST_INSIDE";

/// Network, process and mount namespaces: whatever is started in there ends with the first process, or when this one is
/// killed.
const UNSHARE: [&str; 5] = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

#[test]
fn a_real_scheduler_of_the_netname_is_found_by_broadcast() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    if !require(&["icecc-scheduler", "ip", "unshare"]) {
        return;
    }
    let mut probe = Command::new("unshare");
    probe.args(UNSHARE).args(["ip", "link", "add", "a0", "type", "veth", "peer", "name", "a1"]).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        skip("no network namespace may be made");
        return;
    }
    let own = std::env::current_exe().expect("the test program");
    let name = "finding::a_real_scheduler_of_the_netname_is_found_by_broadcast";
    run(Command::new("unshare").args(UNSHARE).arg(own).args(["--exact", name, "--nocapture"]).env(INSIDE, "1"));
}

/// Four interfaces: two with a scheduler at the other end, one of which was given no broadcast address; one where nobody
/// is, one that is down.
fn inside() {
    ip("link set lo up");
    let schedulers = [scheduler("MINE", "a", "10.98.0.", "brd +"), scheduler("OTHER", "b", "10.99.0.", "")];
    for (wire, state) in [("c", "up"), ("d", "down")] {
        ip(&format!("link add {wire}0 type veth peer name {wire}1"));
        ip(&format!("addr add 10.97.{}.1/24 brd + dev {wire}0", state.len()));
        ip(&format!("link set {wire}1 up"));
        ip(&format!("link set {wire}0 {state}"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let search = |netname: &str| {
        let netname = Some(netname.to_owned());
        let settings = Icecream { place: Place::Auto, netname, ship: true, protocol: 43, preferred_host: None };
        let mut around = Surroundings::of(&|_| None);
        around.sockets.clear();
        around.conf = "/none".into();
        runtime.block_on(find(&settings, &around))
    };
    let at = |address: &str, netname: &str| Way::Scheduler {
        address: address.parse().expect("an address"),
        found_by: format!("found by broadcast, netname {netname}"),
    };
    assert_eq!(search("mine"), Ok(at("10.98.0.2:8765", "mine")));
    assert_eq!(search("OTHER"), Ok(at("10.99.0.2:8765", "OTHER")));
    let error = search("NOBODY").expect_err("there is none").to_string();
    for part in ["within 3 s for the netname NOBODY on a0, b0, c0, only for ", "MINE", "OTHER"] {
        assert!(error.contains(part), "{error}");
    }
    for mut scheduler in schedulers {
        scheduler.kill().and_then(|()| scheduler.wait()).expect("it runs until now");
    }
}

/// Starts a scheduler in a network namespace that is reached through the interface `<wire>0`.
fn scheduler(netname: &str, wire: &str, network: &str, options: &str) -> Child {
    let script = format!(
        "echo in; read _; ip addr add {network}2/24 {options} dev {wire}1 && ip link set {wire}1 up && \
         exec icecc-scheduler -n {netname} -vvv 2>&1"
    );
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("unshare starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut wait_for = |text: &str| {
        let found = lines.by_ref().map_while(Result::ok).any(|line| line.contains(text));
        assert!(found, "{netname} ended without {text:?}");
    };
    wait_for("in");
    ip(&format!("link add {wire}0 type veth peer name {wire}1 netns {}", child.id()));
    ip(&format!("addr add {network}1/24 {options} dev {wire}0"));
    ip(&format!("link set {wire}0 up"));
    child.stdin.take().expect("a pipe").write_all(b"go\n").expect("it waits for this");
    wait_for("scheduler ready");
    // What it says from now on is read by nobody, but the pipe stays open.
    std::mem::forget(lines);
    child
}

fn ip(arguments: &str) {
    run(Command::new("ip").args(arguments.split_whitespace()));
}
