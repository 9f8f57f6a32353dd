//! A real link that has to end well whatever its hosts do.

use std::path::PathBuf;
use std::process::Output;

use crate::bench::expect_no_process_in;
use crate::support::{Link, Linked, Program, Volunteer, Workdir, skip};

/// A program, what its in-process link gives, and what lies in its folder.
pub(crate) struct Trial {
    pub(crate) program: Program,
    in_process: Linked,
    files: Vec<String>,
    configurations: Workdir,
}

/// Whether a daemon can be given a compiler list, a compiler or a configuration of its own.
#[must_use]
pub(crate) fn require_namespace() -> bool {
    Volunteer::start().isolated() || skip("no mount namespace may be made here")
}

impl Trial {
    pub(crate) fn new() -> Self {
        let program = Program::small_c(&["-O2"]);
        let in_process = Link::in_process(&program).run().expect_success();
        let mut files = program.folder.files();
        files.extend(["program".to_owned(), "report.json".to_owned()]);
        Self { program, in_process, files, configurations: Workdir::new() }
    }

    /// A file for a daemon, outside the program's folder.
    pub(crate) fn configuration(&self, name: &str, text: &str) -> PathBuf {
        self.configurations.write(name, text)
    }

    /// The link, ready to be started: local slots serve only what falls back.
    pub(crate) fn prepare(&self, hosts: &str, options: &[&str], environment: &[(&str, &str)]) -> Link<'_> {
        let link = Link::of(&self.program).option("--local-slots=0");
        let link = if hosts.is_empty() { link } else { link.hosts(hosts) };
        let link = options.iter().fold(link, |link, option| link.option(*option));
        environment.iter().fold(link, |link, (name, value)| link.env(name, value))
    }

    /// Links; panics unless the program is the in-process link's and nothing else is left.
    #[track_caller]
    pub(crate) fn link(&self, hosts: &str, options: &[&str], environment: &[(&str, &str)]) -> Linked {
        self.expect_right(self.prepare(hosts, options, environment).run())
    }

    /// A prepared link that was started by hand and has ended.
    pub(crate) fn ended(&self, output: Output) -> Linked {
        self.prepare("", &[], &[]).ended(output)
    }

    /// Panics unless the program is the in-process link's and nothing else is left.
    #[track_caller]
    pub(crate) fn expect_right(&self, linked: Linked) -> Linked {
        let linked = linked.expect_success();
        linked.expect_same_bytes(&self.in_process);
        let left = self.program.folder.files().into_iter();
        let left: Vec<String> = left.filter(|name| !name.starts_with("home/") && !self.files.contains(name)).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        expect_no_process_in(self.program.folder.path());
        linked
    }

    /// Every object was made here.
    #[track_caller]
    pub(crate) fn expect_all_local(&self, linked: &Linked) {
        assert_eq!(linked.total("local"), linked.total("jobs"), "{:#}", linked.report());
    }

    /// The report names the host as one that failed, for this reason.
    #[track_caller]
    pub(crate) fn expect_failed(&self, linked: &Linked, host: &str, words: &str) {
        let found = self.host(linked, host);
        assert!(found["failures"].as_u64() >= Some(1), "{host} did not fail: {found}");
        let reasons = self.reasons(linked, host);
        assert!(!reasons.is_empty() && reasons.contains(words), "no {words:?} in {reasons:?}");
        assert!(linked.stderr.contains(host), "the user is not told of {host}:\n{}", linked.stderr);
    }

    /// The report's reasons against a host.
    #[track_caller]
    pub(crate) fn reasons(&self, linked: &Linked, host: &str) -> String {
        let reasons = self.host(linked, host)["reasons"].as_array().expect("reasons");
        reasons.iter().map(|reason| reason.as_str().expect("words")).collect::<Vec<_>>().join("\n")
    }

    /// How many objects come from a host.
    #[track_caller]
    pub(crate) fn jobs_of(&self, linked: &Linked, host: &str) -> u64 {
        self.host(linked, host)["jobs"].as_u64().expect("a number")
    }

    #[track_caller]
    fn host<'a>(&self, linked: &'a Linked, host: &str) -> &'a serde_json::Value {
        let hosts = linked.report()["hosts"].as_array().expect("hosts");
        hosts.iter().find(|found| found["host"] == host).unwrap_or_else(|| panic!("no {host} in {hosts:?}"))
    }
}
