//! A link that is interrupted: nothing goes on running, nothing is left, and the exit status says so.

use std::os::unix::process::CommandExt;

use crate::gate::{Gate, kill};
use crate::hosts::{Event, Sleeper};
use crate::jobs::{Jobs, finish, patiently, start};
use crate::support::{Link, Program, require};

/// Stops a link while it compiles its second job here, when the first is done.
#[track_caller]
fn interrupted(signal: &str, code: i32) {
    let jobs = Jobs::two();
    let gate = Gate::passing(&jobs.program.folder, "first.o");
    let jobs = jobs.compiler(&gate.compiler);
    let mut command = jobs.command(&["--local-slots=1"]);
    let before = jobs.files();
    let child = start(&mut command);
    let (arrivals, ..) = gate.arrivals().next();
    kill(signal, &child.id().to_string());
    finish(child).expect(code);
    arrivals.expect_gone();
    assert_eq!(jobs.files(), before);
}

#[test]
fn an_interrupted_local_compile_is_gone_with_its_children() {
    interrupted("-INT", 130);
}

#[test]
fn a_terminated_local_compile_is_gone_with_its_children() {
    interrupted("-TERM", 143);
}

#[test]
fn a_terminal_that_goes_away_takes_the_compilers_along() {
    interrupted("-HUP", 129);
    interrupted("-QUIT", 131);
}

/// The link is done, but nobody reads what the compilers said.
#[test]
fn a_link_whose_words_nobody_reads_can_be_interrupted() {
    let jobs = Jobs::two();
    let noisy = "#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' w >&2\nexec clang-22 \"$@\"\n";
    let compiler = jobs.program.folder.write_executable("noisy", noisy);
    let jobs = jobs.compiler(&compiler);
    let mut command = jobs.command(&[]);
    let before = jobs.files();
    let mut child = start(&mut command);
    let mut stderr = child.stderr.take().expect("it is piped");
    let mut word = [0];
    patiently("the first word", move || {
        std::io::Read::read_exact(&mut stderr, &mut word).expect("it says something");
        // More than a pipe holds is still to come.
        Box::leak(Box::new(stderr));
    });
    kill("-TERM", &child.id().to_string());
    finish(child).expect(143);
    assert_eq!(jobs.files(), before);
}

#[test]
fn an_interrupted_link_closes_its_connections() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let jobs = Jobs::two();
        let sleeper = Sleeper::start();
        let mut command = jobs.command(&["--hosts", &sleeper.peer.host(), "--local-slots=0"]);
        let before = jobs.files();
        let child = start(&mut command);
        sleeper.expect(Event::Job);
        kill(signal, &child.id().to_string());
        finish(child).expect(code);
        sleeper.expect(Event::Closed);
        assert_eq!(jobs.files(), before);
    }
}

#[test]
fn ctrl_c_ends_the_whole_link_and_leaves_nothing() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let gate = Gate::passing(&program.folder, "main.o");
    let link = Link::of(&program).argument(format!("-Wl,--thinlto-remote-compiler={}", gate.compiler.display()));
    let mut command = link.without_report().command();
    let before = program.folder.files();
    let child = start(command.process_group(0));
    let (arrivals, ..) = gate.arrivals().next();
    kill("-INT", &format!("-{}", child.id()));
    let ended = finish(child);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    arrivals.expect_gone();
    assert_nothing_new(&program, &before);
}

/// A killed linker cannot tell anybody, and cannot remove its own files.
#[test]
fn a_link_whose_linker_is_killed_stops_and_leaves_no_object() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let gate = Gate::passing(&program.folder, "main.o");
    let link = Link::of(&program).argument(format!("-Wl,--thinlto-remote-compiler={}", gate.compiler.display()));
    let mut command = link.without_report().command();
    let child = start(&mut command);
    let (arrivals, _, thinbridge) = gate.arrivals().next();
    let linker = parent(thinbridge);
    kill("-KILL", &linker.to_string());
    finish(child);
    arrivals.expect_gone();
    let objects: Vec<String> = program.folder.files().into_iter().filter(|name| name.ends_with(".native.o")).collect();
    assert_eq!(objects, Vec::<String>::new());
}

fn parent(process: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it has a parent");
    line.trim().parse().expect("a number")
}

#[track_caller]
fn assert_nothing_new(program: &Program, before: &[String]) {
    let mut after = program.folder.files();
    after.retain(|name| !name.starts_with("home/") && !before.contains(name));
    assert_eq!(after, Vec::<String>::new());
}
