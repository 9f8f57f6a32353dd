//! A link among other people's: what it asks for, what it leaves behind, whose wishes it passes on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::support::{
    Cluster, Host, LOCAL_SOCKET, Link, Program, SCHEDULER, expect_all_remote, require_cluster, run as run_tool,
};
use crate::through::{COMPILER, busy_program, hosts, run, shared, through};

/// What a scheduler's log says of requests that nobody had been found for yet.
#[derive(Default)]
struct Queue {
    waiting: BTreeMap<String, String>,
    submitters: Vec<String>,
}

impl Queue {
    /// Follows the log, and panics where a slot is given away while two submitters wait for one.
    #[track_caller]
    fn follow(log: &str) -> Self {
        let mut queue = Self::default();
        for line in log.lines().filter_map(|line| Some(line.split_once("] ")?.1.split_once(": ")?.1)) {
            queue.line(line);
        }
        queue
    }

    #[track_caller]
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["NEW", job, client, ..] => {
                let client = client.strip_prefix("client=").expect("a submitter").to_owned();
                self.submitters.push(client.clone());
                self.waiting.insert((*job).to_owned(), client);
            }
            ["put", job, "in", "joblist", ..] => {
                let first = self.waiting.values().next();
                assert!(self.waiting.values().all(|client| Some(client) == first), "{line}: {:?}", self.waiting);
                self.waiting.remove(*job);
            }
            ["STOP", "(WAITFORCS)", "FOR", job] | ["END", job, ..] => drop(self.waiting.remove(*job)),
            ["remove", "daemon", name] => self.waiting.retain(|_, client| client != name),
            _ => {}
        }
    }
}

/// The scheduler serves submitters in turn, so three links that asked at once would get three times a user's share.
#[test]
fn links_of_a_user_are_one_submitter() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::setup().host(Host::default().slots(1)).start();
    let program = busy_program(5, 40);
    let in_process = Link::in_process(&program).run().expect_success();
    // The environment gets there first.
    expect_all_remote(&run(&cluster, through(&program, SCHEDULER).remote_only()).expect_success());
    let before = Queue::follow(&cluster.scheduler().log()).submitters.len();

    std::thread::scope(|scope| {
        let link = |name| {
            let link = through(&program, SCHEDULER).remote_only().without_report().output(name);
            run(&cluster, link).expect_success().expect_same_bytes(&in_process);
        };
        for name in ["one", "two", "three"] {
            scope.spawn(move || link(name));
        }
    });
    cluster.expect_nothing_left();
    let queue = Queue::follow(&cluster.scheduler().log());
    assert!(queue.waiting.is_empty(), "{:?}", queue.waiting);
    let mut submitters = queue.submitters[before..].to_vec();
    submitters.sort();
    submitters.dedup();
    assert_eq!(submitters.len(), 3, "{submitters:?}");
}

/// Compilers that begin when the test says so.
struct Gate {
    compiler: String,
    tokens: File,
}

impl Gate {
    fn new(program: &Program) -> Self {
        let pipe = program.folder.join("tokens");
        run_tool(Command::new("mkfifo").arg(&pipe));
        let tokens = File::options().read(true).write(true).open(&pipe).expect("the pipe opens");
        let text = format!("#!/bin/sh\nhead -c 1 <'{}' >/dev/null\nexec \"$@\"\n", pipe.display());
        let compiler = program.folder.write_executable("gate", &text);
        Self { compiler: compiler.display().to_string(), tokens }
    }

    fn before<'p>(&self, link: Link<'p>) -> Link<'p> {
        let compiler = format!("-Wl,--thinlto-remote-compiler={}", self.compiler);
        link.argument(compiler).argument(format!("-Wl,--thinlto-remote-compiler-prepend-arg={COMPILER}"))
    }

    /// Lets so many compilers through, now or when they come.
    fn let_through(&mut self, count: usize) {
        self.tokens.write_all(&vec![b'+'; count]).expect("the pipe takes it");
    }
}

/// A cluster that has no time: requests wait there, while local slots do the work.
#[test]
fn requests_that_are_not_needed_any_more_are_withdrawn() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::setup().host(Host::default().disk(20).never_ready()).start();
    cluster.wait_until("the host is there", |listed| listed.len() == 1);
    let program = busy_program(11, 60);
    let in_process = Link::in_process(&program).run().expect_success();
    let mut gate = Gate::new(&program);
    let link = gate.before(through(&program, SCHEDULER).option("--local-slots=1"));
    let child = cluster.inside(&link.command()).spawn().expect("nsenter starts");
    let waiting = || cluster.control("listjobs").lines().count();
    patiently("requests wait", || waiting() > 0);

    gate.let_through(11);
    patiently("no request waits while the last job is compiled here", || waiting() == 0);
    assert!(cluster.listed().iter().any(|one| one.name.starts_with("thinbridge-")), "the link has ended");

    gate.let_through(1);
    let linked = link.ended(child.wait_with_output().expect("it ends")).expect_success();
    linked.expect_same_bytes(&in_process);
    assert_eq!((linked.total("local"), linked.total("fallbacks")), (12, 0));
    cluster.expect_nothing_left();
}

/// Waits for what no event tells.
#[track_caller]
fn patiently(what: &str, mut happened: impl FnMut() -> bool) {
    for _ in 0..600 {
        if happened() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("a minute went by and it is not so that {what}");
}

#[test]
fn the_users_wishes_are_passed_on() {
    if !require_cluster() {
        return;
    }
    let cluster = shared();
    let program = Program::small_c(&["-O2"]);
    let in_process = Link::in_process(&program).run().expect_success();
    let daemon = format!("unix:{LOCAL_SOCKET}");
    for (way, wish, host) in [(SCHEDULER, "host-2", 1), (&daemon, "10.77.0.11", 0), (SCHEDULER, "10.77.0.11", 0)] {
        let link = through(&program, way).remote_only().env("ICECC_PREFERRED_HOST", wish);
        let linked = run(&cluster, link).expect_success();
        expect_all_remote(&linked);
        linked.expect_same_bytes(&in_process);
        let host = cluster.host(host);
        assert_eq!(hosts(&linked), [(format!("{}:{}", host.address, host.port), 4)], "{wish} through {way}");
    }

    // The priority is the last word of the scheduler's line about a request.
    let link = through(&program, SCHEDULER).remote_only();
    let mut nice = Command::new("nice");
    nice.args(["-n", "7"]).arg(link.command().get_program()).args(link.command().get_args());
    nice.current_dir(program.folder.path());
    for (name, value) in link.command().get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            None => nice.env_remove(name),
        };
    }
    let before = cluster.scheduler().log().len();
    run_tool(&mut cluster.inside(&nice));
    let log = cluster.scheduler().log();
    let requests: Vec<&str> = log[before..].lines().filter(|line| line.contains(": NEW ")).collect();
    assert!(!requests.is_empty() && requests.iter().all(|line| line.ends_with(" 7")), "{requests:?}");
    cluster.expect_nothing_left();
}

/// The only host that is wanted is not there: nobody else is asked, and the link does not wait.
#[test]
fn a_host_that_is_not_there_is_waited_for_by_nobody() {
    if !require_cluster() {
        return;
    }
    let cluster = shared();
    let program = Program::small_c(&["-O2"]);
    let link = through(&program, SCHEDULER).option("--local-slots=0").env("ICECC_PREFERRED_HOST", "elsewhere");
    let linked = run(&cluster, link).expect_success();
    assert_eq!((linked.total("local"), linked.total("fallbacks")), (4, 4));
    assert!(linked.stderr.contains("elsewhere (ICECC_PREFERRED_HOST)"), "{}", linked.stderr);
    linked.expect_same_bytes(&Link::in_process(&program).run().expect_success());
    cluster.expect_nothing_left();
}

/// The thinbridge of a link that runs.
#[track_caller]
fn thinbridge(link: &Child) -> u32 {
    let mut found = None;
    patiently("thinbridge runs", || {
        found = descendants(link.id()).into_iter().find(|process| {
            std::fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name == "thinbridge\n")
        });
        found.is_some()
    });
    found.expect("it was found")
}

fn descendants(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        found.extend(children.unwrap_or_default().split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        next += 1;
    }
    found
}

/// While an environment travels and while jobs run, politely and not: the cluster is as it was.
#[test]
fn a_link_that_is_ended_leaves_nothing_behind() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::setup().hosts(2).local(0).start();
    let program = busy_program(5, 300);
    let daemon = format!("unix:{LOCAL_SOCKET}");
    // Ends a link when the daemons have logged this once more.
    let end = |way: &str, signal: &str, at: &str| {
        let logged = || {
            let logs = cluster.hosts().iter().map(|host| host.log()).chain([cluster.scheduler().log()]);
            logs.map(|log| log.matches(at).count()).sum::<usize>()
        };
        let before = logged();
        let link = through(&program, way).remote_only().without_report();
        let mut child = cluster.inside(&link.command()).stderr(Stdio::null()).spawn().expect("nsenter starts");
        let thinbridge = thinbridge(&child);
        patiently(at, || logged() > before);
        run_tool(Command::new("kill").args([signal, &thinbridge.to_string()]));
        assert!(!child.wait().expect("it ends").success(), "it had ended before {signal}");
        eprintln!("{signal} through {way} at {at:?}");
        cluster.expect_nothing_left();
    };
    // A host that an iceccd's client was given, and that has seen nothing of it, cannot be told by a killed one.
    end(&daemon, "-KILL", "handle_transfer_env");
    for (way, signal) in [(SCHEDULER, "-KILL"), (&daemon, "-TERM"), (SCHEDULER, "-INT")] {
        end(way, signal, "(will install now)");
    }
    // From here on both hosts have it.
    for host in ["host-1", "host-2"] {
        let small = Program::small_c(&["-O2"]);
        let link = through(&small, SCHEDULER).remote_only().env("ICECC_PREFERRED_HOST", host);
        expect_all_remote(&run(&cluster, link).expect_success());
    }
    for (way, signal) in [(SCHEDULER, "-KILL"), (&daemon, "-KILL"), (&daemon, "-INT"), (SCHEDULER, "-TERM")] {
        end(way, signal, ": BEGIN: ");
    }
}
