//! Local slots: how many compilers run here at the same time, over all links of a user.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::gate::{Gate, kill};
use crate::hosts::{Event, Sleeper};
use crate::jobs::{Jobs, finish, patiently, start};
use crate::support::{Language, Link, Program, Volunteer, Workdir, require, require_farm};

/// A compiler that writes down how many of its kind run while it does.
struct Counter {
    compiler: PathBuf,
    folder: PathBuf,
}

impl Counter {
    fn new(folder: &Workdir) -> Self {
        let counter = folder.join("counter");
        for name in ["running", "seen"] {
            fs::create_dir_all(counter.join(name)).expect("created");
        }
        // A mark stands until its compiler is done, so that a number that was seen was true.
        let text = format!(
            "#!/bin/sh\n\
             for word; do [ \"$word\" != --version ] || exec clang-22 \"$@\"; done\n\
             counter='{0}'\n\
             : >\"$counter/running/$$\"\n\
             ls \"$counter/running\" | wc -l >\"$counter/seen/$$\"\n\
             clang-22 \"$@\"; status=$?\n\
             rm \"$counter/running/$$\"\n\
             exit $status\n",
            counter.display()
        );
        Self { compiler: folder.write_executable("counter/compiler", &text), folder: counter }
    }

    /// As an argument of the link.
    fn argument(&self) -> String {
        format!("-Wl,--thinlto-remote-compiler={}", self.compiler.display())
    }

    /// How many compiles there were, and the most that ran at the same time.
    fn counted(&self) -> (usize, usize) {
        let seen = fs::read_dir(self.folder.join("seen")).expect("readable");
        let number = |path: &Path| fs::read_to_string(path).expect("readable").trim().parse().expect("a number");
        let numbers: Vec<usize> = seen.map(|entry| number(&entry.expect("an entry").path())).collect();
        (numbers.len(), numbers.into_iter().max().unwrap_or_default())
    }
}

/// Modules enough for some time of compiling.
fn many(modules: usize) -> Program {
    let calls: String = (0..modules).map(|n| format!("int f{n}(int); ")).collect();
    let sum: String = (0..modules).map(|n| format!(" + f{n}(x)")).collect();
    let main = format!("{calls}\nint main(int x, char **y) {{ return (0{sum}) & 1; }}\n");
    let body = |n: usize| format!("int f{n}(int x) {{ int s = {n}; while (x--) s ^= s * x; return s; }}\n");
    let program = Program::new(Language::C, &["-O2"]).module("main.c", &main);
    (0..modules).fold(program, |program, n| program.module(&format!("f{n}.c"), &body(n)))
}

#[test]
fn four_links_at_once_never_run_more_compilers_than_slots() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = many(3);
    let counter = Counter::new(&program.folder);
    let link = |name: &str| {
        let link = Link::of(&program).without_report().argument(counter.argument());
        start(&mut link.option("--local-slots=2").output(name).command())
    };
    let links = ["one", "two", "three", "four"].map(link);
    for link in links {
        finish(link).expect(0).silent();
    }
    assert_eq!(counter.counted(), (16, 2));
}

#[test]
fn a_killed_link_frees_its_slots() {
    let jobs = Jobs::two();
    let gate = Gate::new(&jobs.program.folder);
    let plain = jobs.description["common"]["args"][0].clone();
    let mut jobs = jobs.compiler(&gate.compiler);
    let mut killed = start(&mut jobs.command(&["--local-slots=1"]));
    let (_, compiler, _) = gate.arrivals().next();
    killed.kill().expect("killed");
    killed.wait().expect("its end");
    jobs.description["common"]["args"][0] = plain;
    jobs.run(&["--local-slots=1"]).expect(0);
    jobs.objects();
    // The killed link could not do it.
    kill("-KILL", &format!("-{compiler}"));
}

#[test]
fn a_link_that_waits_for_a_slot_can_be_interrupted() {
    let jobs = Jobs::two();
    let gate = Gate::new(&jobs.program.folder);
    let jobs = jobs.compiler(&gate.compiler);
    let first = start(&mut jobs.command(&["--local-slots=1"]));
    let (arrivals, ..) = gate.arrivals().next();
    // A job at a host shows that the second link is under way; for its local slot it waits.
    let sleeper = Sleeper::start();
    let second = start(&mut jobs.command(&["--local-slots=1", "--hosts", &sleeper.peer.host()]));
    sleeper.expect(Event::Job);
    kill("-INT", &second.id().to_string());
    finish(second).expect(130);
    kill("-TERM", &first.id().to_string());
    finish(first).expect(143);
    arrivals.expect_gone();
}

#[test]
fn a_link_that_is_stopped_while_it_waits_stops_no_other() {
    let jobs = Jobs::two();
    let gate = Gate::new(&jobs.program.folder);
    let plain = jobs.description["common"]["args"][0].clone();
    let mut jobs = jobs.compiler(&gate.compiler);
    let first = start(&mut jobs.command(&["--local-slots=1"]));
    let (arrivals, ..) = gate.arrivals().next();
    let waiting = start(&mut jobs.command(&["--local-slots=1"]));
    let turn = jobs.program.folder.join("home/thinbridge/slots/turn-1");
    patiently("its turn", move || {
        while turn_is_free(&turn) {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    kill("-STOP", &waiting.id().to_string());
    // Another slot is free for a link that has two, and the first one when the first link has ended.
    jobs.description["common"]["args"][0] = plain;
    jobs.run(&["--local-slots=2"]).expect(0);
    kill("-TERM", &first.id().to_string());
    finish(first).expect(143);
    arrivals.expect_gone();
    jobs.run(&["--local-slots=1"]).expect(0);
    jobs.objects();
    kill("-KILL", &waiting.id().to_string());
    assert_eq!(finish(waiting).code, None);
}

/// Whether no link looks for a free slot.
fn turn_is_free(turn: &Path) -> bool {
    fs::File::open(turn).is_ok_and(|turn| turn.try_lock().is_ok())
}

#[test]
fn few_descriptors_make_a_link_slower_and_nothing_else() {
    let jobs = Jobs::of(many(15));
    let mut command = jobs.scripted(&["env"], "ulimit -n 32; exec \"$@\"", &["--local-slots=16"]);
    crate::jobs::run(&mut command).expect(0).silent();
    jobs.objects();
}

#[test]
fn localhost_in_the_list_sets_the_slots() {
    let three = |options: &[&str]| {
        let jobs = Jobs::of(many(3));
        let gate = Gate::new(&jobs.program.folder);
        let jobs = jobs.compiler(&gate.compiler);
        let child = start(&mut jobs.command(options));
        let mut arrivals = gate.arrivals();
        for _ in 0..3 {
            (arrivals, _, _) = arrivals.next();
        }
        let open = gate.open();
        finish(child).expect(0);
        drop(open);
        arrivals.expect_gone();
    };
    three(&["--hosts=localhost/3"]);
    three(&["--hosts=localhost/1", "--local-slots=3"]);
    // As many and no more.
    let program = many(3);
    let counter = Counter::new(&program.folder);
    let link = Link::of(&program).argument(counter.argument()).hosts("localhost/1");
    link.run().expect_success();
    assert_eq!(counter.counted(), (4, 1));
}

#[test]
fn by_default_there_are_as_many_slots_as_processors_that_may_be_used() {
    if !require(&["taskset"]) {
        return;
    }
    let jobs = Jobs::of(many(3));
    let counter = Counter::new(&jobs.program.folder);
    let jobs = jobs.compiler(&counter.compiler);
    let mut command = jobs.scripted(&["taskset", "-c", first_processor().as_str()], "exec \"$@\"", &[]);
    crate::jobs::run(&mut command).expect(0).silent();
    assert_eq!(counter.counted(), (4, 1));
}

/// One of the processors that this test may use.
pub(crate) fn first_processor() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("readable");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
    list.trim().split(['-', ',']).next().expect("a number").to_owned()
}

#[test]
fn with_no_local_slots_only_the_reference_is_compiled_here() {
    if !require_farm() {
        return;
    }
    let program = many(5);
    let counter = Counter::new(&program.folder);
    let host = Volunteer::start();
    let link = |hosts: &str| {
        let link = Link::of(&program).argument(counter.argument()).hosts(hosts);
        link.option("--local-slots=0").run().expect_success()
    };
    let linked = link(&host.host());
    assert_eq!((linked.total("remote"), counter.counted().0), (6, 1));
    // With no host at all they are the only way.
    let linked = link("");
    assert_eq!((linked.total("local"), counter.counted().0), (6, 7));
}
