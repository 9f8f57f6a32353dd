//! Options that the linker keeps from its distributor's compilers: one line when there are some, silence otherwise.

use crate::support::{Language, Link, Program, Volunteer, require, require_farm};

fn two() -> Program {
    Program::new(Language::C, &["-O2"])
        .module("first.c", "int second(int);\nint main(void) { return second(20) - 41; }\n")
        .module("second.c", "int second(int x) { return 2 * x + 1; }\n")
}

#[test]
fn an_ordinary_link_says_nothing_at_all() {
    if !require_farm() {
        return;
    }
    let program = Program::small_cpp(&["-O2", "-g"]);
    let host = Volunteer::start();
    for link in [Link::of(&program), Link::of(&program).hosts(host.host()), Link::of(&program).without_report()] {
        let linked = link.argument("-Wl,--gc-sections").argument("-Wl,-O2").run().expect_success();
        assert_eq!((linked.stdout.as_str(), linked.stderr.as_str()), ("", ""));
    }
}

#[test]
fn dropped_options_are_named_in_one_line_with_what_mends_them() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = two();
    let link = || {
        let link = Link::of(&program).argument("-Wl,-mllvm,-inline-threshold=7");
        link.argument("-Wl,--lto-basic-block-sections=all").argument("-Wl,--lto-newpm-passes=default<O1>")
    };
    let linked = link().run().expect_success();
    assert_eq!(linked.stderr.lines().count(), 1, "{}", linked.stderr);
    let wanted = [
        "-mllvm -inline-threshold=7",
        "--thinlto-remote-compiler-arg=-mllvm --thinlto-remote-compiler-arg=-inline-threshold=7",
        "--lto-basic-block-sections=all",
        "--thinlto-remote-compiler-arg=-fbasic-block-sections=all",
        "--lto-newpm-passes=default<O1>",
    ];
    for words in wanted {
        assert!(linked.stderr.contains(words), "{words} is not in: {}", linked.stderr);
    }
}

#[test]
fn a_mended_option_is_not_named() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = two();
    let arguments = ["-mllvm", "-inline-threshold=7"].map(|word| format!("-Wl,--thinlto-remote-compiler-arg={word}"));
    let link = Link::of(&program).argument("-Wl,-mllvm,-inline-threshold=7");
    let linked = arguments.iter().fold(link, Link::argument).run().expect_success();
    assert_eq!(linked.stderr, "");
}

#[test]
fn options_in_a_response_file_are_seen() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = two();
    program.folder.write("link options.rsp", "--lto-CGO0\n");
    let linked = Link::of(&program).argument("-Wl,@link options.rsp").run().expect_success();
    assert_eq!(linked.stderr.lines().filter(|line| line.contains("--lto-CGO0")).count(), 1, "{}", linked.stderr);
}
