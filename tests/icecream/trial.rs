//! A link that has to end well whatever becomes of its cluster.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Cluster, Link, Linked, Node, Program, SCHEDULER, run as succeed};
use crate::through::{self, through};

/// Pause between two looks at a host's processes.
const PAUSE: Duration = Duration::from_millis(20);

/// Longest wait for a job to begin.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program and what its in-process link gives.
pub(crate) struct Trial {
    pub(crate) program: Program,
    in_process: Linked,
}

impl Trial {
    pub(crate) fn of(program: Program) -> Self {
        let in_process = Link::in_process(&program).run().expect_success();
        Self { program, in_process }
    }

    /// Few jobs, done in a moment.
    pub(crate) fn short() -> Self {
        Self::of(Program::small_c(&["-O2"]))
    }

    /// So many jobs of a second or so each, and one more.
    pub(crate) fn long(jobs: usize) -> Self {
        Self::of(through::busy_program(jobs, 80))
    }

    /// A link through the scheduler in which local slots serve only what falls back.
    pub(crate) fn link(&self) -> Link<'_> {
        self.by(SCHEDULER)
    }

    /// The same by another way.
    pub(crate) fn by(&self, way: &str) -> Link<'_> {
        through(&self.program, way).option("--local-slots=0")
    }

    /// Runs the link; the program is the in-process link's.
    #[track_caller]
    pub(crate) fn run(&self, cluster: &Cluster, link: Link) -> Linked {
        self.expect_right(through::run(cluster, link))
    }

    /// Begins the link.
    pub(crate) fn start<'p>(&'p self, cluster: &Cluster, link: Link<'p>) -> Underway<'p> {
        let mut command = cluster.inside(&link.command());
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("nsenter starts");
        Underway { trial: self, link, child }
    }

    /// Sends this host the environment; all jobs of a link run there.
    #[track_caller]
    pub(crate) fn warm(&self, cluster: &Cluster, host: &Node) {
        let link = self.link().option("--fallback=off").env("ICECC_PREFERRED_HOST", &host.name);
        let linked = self.run(cluster, link);
        assert_eq!(through::hosts(&linked), [(name(host), linked.total("jobs"))], "{:#}", linked.report());
        cluster.expect_nothing_left();
    }

    #[track_caller]
    fn expect_right(&self, linked: Linked) -> Linked {
        let linked = linked.expect_success();
        linked.expect_same_bytes(&self.in_process);
        linked
    }
}

/// A link that runs.
pub(crate) struct Underway<'p> {
    trial: &'p Trial,
    link: Link<'p>,
    child: Child,
}

impl Underway<'_> {
    /// Waits for its end; the program is the in-process link's.
    #[track_caller]
    pub(crate) fn end(self) -> Linked {
        let output = self.child.wait_with_output().expect("it ends");
        self.trial.expect_right(self.link.ended(output))
    }
}

/// Every object comes from a host.
#[track_caller]
pub(crate) fn expect_remote(linked: &Linked) {
    assert_eq!(linked.total("remote"), linked.total("jobs"), "{:#}\n{}", linked.report(), linked.stderr);
}

/// Every object was made here.
#[track_caller]
pub(crate) fn expect_local(linked: &Linked) {
    assert_eq!(linked.total("local"), linked.total("jobs"), "{:#}\n{}", linked.report(), linked.stderr);
}

/// A host, as reports name it.
pub(crate) fn name(host: &Node) -> String {
    format!("{}:{}", host.address, host.port)
}

/// Waits until a compiler of a link runs on the host.
#[track_caller]
pub(crate) fn wait_for_compiler(host: &Node) {
    let start = Instant::now();
    while !host.command_lines().iter().any(|line| line.contains("-fthinlto-index=")) {
        assert!(start.elapsed() < PATIENCE, "no compiler on {} within {PATIENCE:?}:\n{}", host.name, host.log());
        std::thread::sleep(PAUSE);
    }
}

/// What the report says against a host; nothing if it does not know it.
pub(crate) fn reasons(linked: &Linked, host: &Node) -> String {
    let hosts = linked.report()["hosts"].as_array().expect("hosts");
    let found = hosts.iter().find(|found| found["host"] == name(host));
    found.map_or_else(String::new, |found| found["reasons"].to_string())
}

/// Panics unless the report and the user's words tell this of the cluster.
#[track_caller]
pub(crate) fn expect_told(linked: &Linked, words: &str) {
    let reasons = linked.report()["icecream"]["reasons"].to_string();
    assert!(reasons.contains(words), "no {words:?} in {reasons}\n{}", linked.stderr);
    assert!(linked.stderr.contains(words), "no {words:?} in\n{}", linked.stderr);
}

/// Runs a shell command on the client's machine.
pub(crate) fn shell(cluster: &Cluster, script: &str) {
    succeed(&mut cluster.inside(std::process::Command::new("bash").args(["-c", script])));
}
