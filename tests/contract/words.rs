//! What compilers say reaches the user once, in the order of the jobs, the same from here and from a host.

use crate::jobs::Jobs;
use crate::support::{Language, Link, Linked, Program, Volunteer, require, require_farm};

/// A module that makes the code generator speak: two warnings of the assembler, of several lines each, and one about its
/// stack. `big` bytes of source make the job the larger, so that the schedule does not follow the jobs' order.
fn module(name: &str, kind: &str, big: usize) -> String {
    let filler: String = (0..big).map(|n| format!("int {name}_{n}(int x) {{ return x * {n} ^ x; }}\n")).collect();
    format!(
        "{filler}void take(char *);\n\
         __attribute__((noinline)) int {name}(int x) {{\n\
           char buffer[3000];\n\
           take(buffer);\n\
           __asm__ volatile(\".{kind} \\\"first of {name}\\\"\\n\\t.warning \\\"second of {name}\\\"\");\n\
           return buffer[x];\n\
         }}\n"
    )
}

fn program(kind: &str) -> Program {
    let main = "int a(int), b(int), c(int);\nvoid take(char *p) { *p = 1; }\n\
                int main(void) { return a(1) + b(2) + c(3); }\n";
    Program::new(Language::C, &["-O1", "-g", "-Wframe-larger-than=1000"])
        .module("a.c", &module("a", kind, 2))
        .module("main.c", main)
        .module("b.c", &module("b", "warning", 40))
        .module("c.c", &module("c", "warning", 20))
}

#[track_caller]
fn expect_words(linked: &Linked) {
    let mut rest = linked.stderr.as_str();
    for name in ["a", "b", "c"] {
        for place in ["first", "second"] {
            let words = format!("warning: {place} of {name}\n");
            assert_eq!(linked.stderr.matches(&words).count(), 1, "{words}{}", linked.stderr);
            let (_, after) = rest.split_once(&words).unwrap_or_else(|| panic!("not in order: {}", linked.stderr));
            rest = after;
        }
        assert!(linked.stderr.contains(&format!("in function '{name}'")), "{}", linked.stderr);
    }
}

#[test]
fn warnings_come_once_in_job_order_and_the_same_from_everywhere() {
    if !require_farm() {
        return;
    }
    let program = program("warning");
    let local = Link::of(&program).run().expect_success();
    expect_words(&local);
    let host = Volunteer::start();
    let remote = Link::of(&program).hosts(host.host()).remote_only().run().expect_success();
    assert_eq!(remote.total("remote"), 4);
    assert_eq!(remote.stderr, local.stderr);
    assert_eq!((local.stdout.as_str(), remote.stdout.as_str()), ("", ""));
}

#[test]
fn what_a_wrapper_leaves_behind_holds_no_link_up() {
    let jobs = Jobs::two();
    let folder = &jobs.program.folder;
    // A cache's server would hold the compiler's pipes like this; its end is seen through a pipe of its own.
    let alive = folder.join("alive");
    crate::support::run(std::process::Command::new("mkfifo").arg(&alive));
    let text = format!(
        "#!/bin/sh\n         for word; do case $word in --version) exec clang-22 \"$@\";; esac; done\n         {{ read end; }} <>'{}' &\n         echo words >&2\n         exec clang-22 \"$@\"\n",
        alive.display()
    );
    let wrapper = folder.write_executable("wrapper", &text);
    let jobs = jobs.compiler(&wrapper);
    let ended = jobs.run(&["--local-slots=2"]).expect(0);
    assert_eq!(ended.stderr, "words\nwords\n");
    jobs.objects();
    std::fs::write(alive, "end\nend\n").expect("those left behind are told to end");
}

#[test]
fn remarks_and_unknown_flags_are_told_as_a_plain_compile_tells_them() {
    if !require_farm() || !require(&["taskset"]) {
        return;
    }
    let program = program("warning");
    let link = || {
        let link = Link::of(&program).argument("-Wl,--thinlto-remote-compiler-arg=-Rpass=inline");
        link.argument("-Wl,--thinlto-remote-compiler-arg=-Wno-such-warning")
    };
    let plain = link().distributor(format!("{}/integration/local-distributor", crate::support::ROOT));
    // On one processor it runs one job at a time, and its words are in order.
    let mut command = std::process::Command::new("taskset");
    command.args(["-c", &crate::slots::first_processor()]).arg(plain.command().get_program());
    let plain = crate::jobs::run(command.args(plain.command().get_args()).current_dir(program.folder.path()));
    let local = link().run().expect_success();
    assert!(local.stderr.contains("-Rpass=inline") && local.stderr.contains("-Wno-such-warning"), "{}", local.stderr);
    assert_eq!(local.stderr, plain.stderr);
    let host = Volunteer::start();
    let remote = link().hosts(host.host()).remote_only().run().expect_success();
    assert_eq!(remote.stderr, local.stderr);
}

#[test]
fn an_error_of_the_code_generator_fails_the_link_with_its_words_and_ours() {
    if !require_farm() {
        return;
    }
    let program = program("error");
    let host = Volunteer::start();
    let check = |link: Link<'_>| {
        let linked = link.run().expect_failure();
        assert_eq!(linked.status.code(), Some(1));
        assert_eq!(linked.stderr.matches("error: first of a\n").count(), 1, "{}", linked.stderr);
        let ours: Vec<&str> = linked.stderr.lines().filter(|line| line.starts_with("thinbridge: error: ")).collect();
        assert_eq!(ours.len(), 1, "{}", linked.stderr);
        assert!(ours[0].contains("a.o"), "{}", ours[0]);
        assert!(linked.stderr.contains("distributor execution failed"), "the linker heard of it: {}", linked.stderr);
    };
    check(Link::of(&program));
    check(Link::of(&program).hosts(host.host()));
    check(Link::of(&program).hosts(host.host()).option("--local-slots=0"));
    assert!(!program.folder.files().iter().any(|name| name.ends_with(".native.o")), "an object was left");
}

#[test]
fn a_compiler_that_cannot_be_run_is_named() {
    let jobs = Jobs::two().compiler(std::path::Path::new("/nowhere/clang"));
    jobs.run(&[]).expect(1).says(&["cannot run the compiler /nowhere/clang", "No such file"]);
    let hosts = jobs.run(&["--hosts=127.0.0.1:1"]).expect(1);
    assert!(hosts.stderr.contains("/nowhere/clang"), "{}", hosts.stderr);
}

#[test]
fn a_compiler_that_is_killed_is_told_with_the_signal() {
    let jobs = Jobs::two();
    let compiler = jobs.program.folder.write_executable("compiler", "#!/bin/sh\nkill -KILL $$\n");
    jobs.compiler(&compiler).run(&[]).expect(1).says(&["signal 9", "out of memory"]);
}

#[test]
fn words_that_are_no_text_pass_through() {
    let jobs = Jobs::two();
    let script = "#!/bin/sh\nprintf 'odd \\377 word\\n no newline' >&2\nexec clang-22 \"$@\"\n";
    let compiler = jobs.program.folder.write_executable("compiler", script);
    let output = jobs.compiler(&compiler).command(&[]).output().expect("it runs");
    assert!(output.status.success());
    assert_eq!(output.stderr, b"odd \xff word\n no newline\nodd \xff word\n no newline\n");
}
