//! The user's own machine is somebody's volunteer too: jobs that run here take slots of its iceccd.

use std::path::PathBuf;

use crate::holder::Holder;
use crate::support::{
    Cluster, LOCAL_SOCKET, Link, Linked, Program, Workdir, expect_all_local, require, require_cluster,
};
use crate::through::{COMPILER, busy_program, run, through};

/// Stands before the compiler and notes when one starts and ends.
struct Counter {
    program: PathBuf,
    notes: PathBuf,
}

impl Counter {
    fn new(folder: &Workdir) -> Self {
        let notes = folder.join("notes");
        let text =
            format!("#!/bin/sh\necho + >>'{0}'\n\"$@\"\nstatus=$?\necho - >>'{0}'\nexit $status\n", notes.display());
        Self { program: folder.write_executable("counter", &text), notes }
    }

    fn before<'p>(&self, link: Link<'p>) -> Link<'p> {
        let compiler = format!("-Wl,--thinlto-remote-compiler={}", self.program.display());
        link.argument(compiler).argument(format!("-Wl,--thinlto-remote-compiler-prepend-arg={COMPILER}"))
    }

    /// How many compilers ran, and how many of them at the same time.
    fn counted(&self) -> (usize, usize) {
        let notes = std::fs::read_to_string(&self.notes).unwrap_or_default();
        let (mut total, mut now, mut most) = (0, 0_usize, 0);
        for note in notes.lines() {
            match note {
                "+" => (total, now) = (total + 1, now + 1),
                _ => now -= 1,
            }
            most = most.max(now);
        }
        (total, most)
    }
}

/// A link whose jobs all run here, in as many slots as the test says.
fn link<'p>(program: &'p Program, counter: &Counter, slots: usize) -> Link<'p> {
    let link = through(program, &format!("unix:{LOCAL_SOCKET}")).option(format!("--local-slots={slots}"));
    counter.before(link)
}

#[track_caller]
fn expect(linked: &Linked, program: &Program) {
    expect_all_local(linked);
    linked.expect_same_bytes(&Link::in_process(program).run().expect_success());
}

/// No hosts but this one: whatever is asked for, the answer is to compile here.
#[test]
fn no_more_compilers_than_the_iceccd_has_slots() {
    if !require_cluster() || !require(&["python3"]) {
        return;
    }
    let cluster = Cluster::setup().local(2).start();
    let program = busy_program(9, 20);
    let folder = Workdir::new();
    let counter = Counter::new(&folder);
    let linked = run(&cluster, link(&program, &counter, 4)).expect_success();
    expect(&linked, &program);
    let (total, most) = counter.counted();
    assert!(total == 10 && most <= 2, "{total} compilers, {most} at the same time");
    cluster.expect_nothing_left();

    let _somebody = Holder::start(&cluster);
    let folder = Workdir::new();
    let counter = Counter::new(&folder);
    let linked = run(&cluster, link(&program, &counter, 4)).expect_success();
    expect(&linked, &program);
    assert_eq!(counter.counted(), (10, 1));
}

/// Its slots are all taken, and will be: the link waits once, and then does its work all the same. The bound is far
/// above that one wait of 20 s, and far below one for each job.
#[test]
fn a_full_iceccd_holds_a_link_up_only_once() {
    if !require_cluster() || !require(&["python3"]) {
        return;
    }
    let cluster = Cluster::setup().local(1).start();
    let somebody = Holder::start(&cluster);
    let program = busy_program(9, 1);
    let folder = Workdir::new();
    let linked = run(&cluster, link(&program, &Counter::new(&folder), 2)).expect_success();
    assert_eq!(linked.total("local"), 10);
    linked.expect_same_bytes(&Link::in_process(&program).run().expect_success());
    let seconds = linked.report()["totals"]["seconds"].as_f64().expect("the link took time");
    assert!(seconds < 60.0, "{seconds} s");
    drop(somebody);
    cluster.expect_nothing_left();
}

/// No hosts but this one: the answer to every request is to compile here. What is offered just when a local slot is free
/// is used, and the scheduler hears how it went; most of the time our compiles have all slots already.
#[test]
fn offers_to_compile_here_are_taken() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::setup().local(2).start();
    let program = busy_program(11, 60);
    let in_process = Link::in_process(&program).run().expect_success();
    let ended_well =
        |log: String| log.lines().filter(|line| line.contains(" status=0 ") && line.ends_with(" server=local")).count();
    for _ in 0..5 {
        let link = through(&program, &format!("unix:{LOCAL_SOCKET}")).option("--local-slots=2");
        let linked = run(&cluster, link).expect_success();
        expect_all_local(&linked);
        linked.expect_same_bytes(&in_process);
        cluster.expect_nothing_left();
        if ended_well(cluster.scheduler().log()) > 0 {
            return;
        }
    }
    panic!("five links used no offer:\n{}", cluster.scheduler().log());
}
