//! A stock icecream cluster in network namespaces of its own, started by `integration/icecream-node`: a scheduler, some
//! `iceccd`, and the client's machine, where links run.
//!
//! Several can be up at once. They all use the same addresses and do not see each other. A cluster ends with the value
//! that stands for it, and with the test program however that ends: every machine lives only as long as its standard
//! input is open.

mod control;
mod machine;
mod setup;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) use self::control::Listed;
pub(crate) use self::machine::{Client, Node};
pub(crate) use self::setup::{Host, Setup};

use self::control::Control;
use super::daemon::{Daemon, PATIENCE};
use super::{ROOT, require, skip};

/// Where the scheduler is.
pub(crate) const SCHEDULER: &str = "10.77.0.2";

/// Where the client's machine is.
pub(crate) const CLIENT: &str = "10.77.0.1";

/// The local iceccd's socket, on the client's machine.
pub(crate) const LOCAL_SOCKET: &str = "/run/icecc/iceccd.socket";

/// What the local iceccd calls itself.
pub(crate) const LOCAL_NAME: &str = "local";

/// Pause between two questions to the scheduler, which has no event to wait for.
const PAUSE: Duration = Duration::from_millis(100);

/// Load with which a host gets no jobs.
const FULL_LOAD: u32 = 1000;

/// How long daemons may take to notice that a link has ended.
const NOTICE: Duration = Duration::from_secs(10);

/// What a cluster needs: the tools, root, and network namespaces.
#[must_use]
pub(crate) fn require_cluster() -> bool {
    if !require(&["clang-22", "clang++-22", "ld.lld-22", "iceccd", "icecc-scheduler", "ip", "nsenter", "unshare"]) {
        return false;
    }
    let trial = Command::new("unshare").args(["--mount", "--net", "true"]).stderr(Stdio::null()).status();
    trial.is_ok_and(|status| status.success())
        || skip("no network namespace may be made here (root can), and an icecream cluster needs some")
}

/// A running cluster. Dropped in the order of its fields: the client's machine, which holds the switch, goes last.
pub(crate) struct Cluster {
    control: Control,
    scheduler: Option<Node>,
    local: Option<Node>,
    hosts: Vec<Node>,
    netname: String,
    client: Daemon,
}

impl Cluster {
    /// A cluster of so many hosts with 2 slots each.
    pub(crate) fn start(hosts: usize) -> Self {
        Self::setup().hosts(hosts).start()
    }

    /// A cluster with something particular about it.
    pub(crate) fn setup() -> Setup {
        Setup::default()
    }

    /// The client's machine.
    pub(crate) fn client(&self) -> Client {
        Client { process: self.client.id() }
    }

    /// The same command, on the client's machine.
    pub(crate) fn inside(&self, command: &Command) -> Command {
        self.client().inside(command)
    }

    /// The host with this number, from 0; it is called `host-<number + 1>`.
    pub(crate) fn host(&self, number: usize) -> &Node {
        &self.hosts[number]
    }

    /// All hosts.
    pub(crate) fn hosts(&self) -> &[Node] {
        &self.hosts
    }

    /// The scheduler; panics if it has been ended.
    #[track_caller]
    pub(crate) fn scheduler(&self) -> &Node {
        self.scheduler.as_ref().expect("the scheduler runs")
    }

    /// The local iceccd; panics if there is none.
    #[track_caller]
    pub(crate) fn local(&self) -> &Node {
        self.local.as_ref().expect("the cluster was started with a local iceccd")
    }

    /// Ends the scheduler with its machine.
    pub(crate) fn end_scheduler(&mut self) {
        self.scheduler = None;
    }

    /// Starts the scheduler (again).
    pub(crate) fn start_scheduler(&mut self) {
        self.scheduler = None;
        self.scheduler = Some(self.another_scheduler(SCHEDULER));
    }

    /// One more scheduler of this cluster's name, on a machine of its own.
    pub(crate) fn another_scheduler(&self, address: &str) -> Node {
        let node = self.launch_node("scheduler", &["--address", address], &[], ("scheduler", address));
        node.wait_for_log("scheduler ready").unwrap_or_else(|log| panic!("icecc-scheduler did not start: {log}"));
        node
    }

    /// One more host, called after its place; returns once it can be given jobs.
    pub(crate) fn start_host(&mut self, host: &Host) {
        self.launch(host);
        if !host.never_ready {
            self.wait_for_ready(&[host_name((self.hosts.len(), ()))]);
        }
    }

    /// Starts the local iceccd (again).
    pub(crate) fn start_local(&mut self, slots: usize) {
        self.local = None;
        self.launch_local(slots);
        self.wait_for_ready(&[LOCAL_NAME.to_owned()]);
    }

    fn launch_local(&mut self, slots: usize) {
        let slots = slots.to_string();
        let arguments = ["--name", LOCAL_NAME, "--slots", &slots];
        self.local = Some(self.launch_node("local", &arguments, &[], (LOCAL_NAME, CLIENT)));
    }

    /// Takes the local iceccd away.
    pub(crate) fn end_local(&mut self) {
        self.local = None;
    }

    fn launch(&mut self, host: &Host) {
        let number = self.hosts.len() + 1;
        let name = host_name((number, ()));
        let (place, address) = match host.join {
            Some(other) => {
                let other = &self.hosts[other];
                (["--join".to_owned(), other.daemon.id().to_string()], other.address.clone())
            }
            None => {
                let address = format!("10.77.0.{}", 10 + number);
                (["--address".to_owned(), address.clone()], address)
            }
        };
        let arguments = [&place[0], &place[1], "--name", &name];
        let mut node = self.launch_node("host", &arguments, &host.options, (&name, &address));
        node.port = host.port.unwrap_or(node.port);
        self.hosts.push(node);
    }

    fn launch_node(&self, kind: &str, arguments: &[&str], more: &[OsString], (name, address): (&str, &str)) -> Node {
        let mut command = node(&[kind, "--client", &self.client.id().to_string(), "--netname", &self.netname]);
        let daemon = Daemon::start(command.args(arguments).args(more).stdout(Stdio::null()));
        daemon.wait_for_log("starting up").unwrap_or_else(|log| panic!("{name} did not start: {log}"));
        Node { daemon, client: self.client(), name: name.to_owned(), address: address.to_owned(), port: 10245 }
    }

    /// The scheduler's answer to a command of its control port.
    #[track_caller]
    pub(crate) fn control(&self, command: &str) -> String {
        self.control.ask(command)
    }

    /// Every daemon that the scheduler knows, links among them.
    #[track_caller]
    pub(crate) fn listed(&self) -> Vec<Listed> {
        Listed::parse_all(&self.control("listcs"))
    }

    /// Waits until what the scheduler lists is as wished.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, wished: impl Fn(&[Listed]) -> bool) {
        let start = Instant::now();
        loop {
            let answer = self.control.try_ask("listcs").unwrap_or_else(|| "no scheduler answers".to_owned());
            if wished(&Listed::parse_all(&answer)) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{PATIENCE:?} went by and it is not so that {what}:\n{answer}");
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until these can be given jobs: the scheduler has had their load.
    #[track_caller]
    pub(crate) fn wait_for_ready(&self, names: &[String]) {
        self.wait_until(&format!("{names:?} are ready"), |listed| {
            names.iter().all(|name| listed.iter().any(|one| one.name == *name && one.load < FULL_LOAD))
        });
    }

    /// Panics if a link left something in the cluster: a job, a daemon of its own, a slot of the local iceccd, a host
    /// that waits for an environment, or a file. Daemons learn of an end a moment after it, hence some patience.
    #[track_caller]
    pub(crate) fn expect_nothing_left(&self) {
        let start = Instant::now();
        loop {
            let left = self.left();
            if left.is_empty() {
                return;
            }
            assert!(start.elapsed() < NOTICE, "left in the cluster:\n{}", left.join("\n"));
            std::thread::sleep(PAUSE);
        }
    }

    /// What links have left in the cluster, or have there now.
    #[track_caller]
    pub(crate) fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        for one in self.listed() {
            let ours = self.nodes().any(|node| node.name == one.name);
            if !ours || one.jobs > 0 || one.installing {
                left.push(format!("{one:?}"));
            }
        }
        left.extend(self.control("listjobs").lines().map(str::to_owned));
        if let Some(local) = &self.local {
            // Slots that are held for local jobs show only here.
            let internals = self.control(&format!("internals {}", local.name));
            left.extend(internals.lines().filter(|line| line.trim_start().starts_with("client ")).map(str::to_owned));
        }
        left.extend(self.hosts.iter().flat_map(Node::leftovers).map(|file| file.display().to_string()));
        left
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.hosts.iter().chain(&self.local)
    }
}

fn host_name<T>((number, _): (usize, T)) -> String {
    format!("host-{number}")
}

fn node(arguments: &[&str]) -> Command {
    let mut command = Command::new(Path::new(ROOT).join("integration/icecream-node"));
    command.args(arguments).arg("--mask").arg(std::env::temp_dir());
    command
}
