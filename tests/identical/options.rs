//! What can be added to a link: a cache, a profile, other modules beside the ThinLTO ones, another way to the compiler.

use super::harness::{expect_all_remote, expect_small_c, farm, same_everywhere, same_with};
use crate::support::{Language, Link, Linked, Program, Proxy, SMALL_C, SMALL_C_OUTPUT, clang, find_in_path};
use crate::support::{require, require_farm};

/// A remote link that keeps its objects in a cache, in a place where no report of an earlier link is left.
fn cached(program: &Program) -> Linked {
    let _ = std::fs::remove_file(program.folder.join("report.json"));
    let link = Link::of(program).hosts(farm().hosts()).remote_only();
    link.argument("-Wl,--thinlto-cache-dir=cache").run().expect_success()
}

/// What the linker finds in its cache is no job; what changed is one, and so is what imports from it.
#[test]
fn a_cache() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let plain = Link::in_process(&program).run().expect_success();
    let first = cached(&program);
    expect_all_remote(&first);
    first.expect_same_bytes(&plain);
    assert_eq!(first.total("jobs"), 4);

    let second = cached(&program);
    assert!(second.report.is_none(), "all is in the cache, but the distributor ran: {:?}", second.report);
    second.expect_same_bytes(&plain);

    program.compile("start.c", &SMALL_C[3].1.replace('7', "8"));
    let third = cached(&program);
    expect_all_remote(&third);
    assert!(third.total("jobs") < first.total("jobs"), "{}", third.report());
    third.expect_same_bytes(&Link::in_process(&program).run().expect_success());
    assert_eq!(third.output(), SMALL_C_OUTPUT.replace('7', "8"));
}

/// The profile travels with the jobs, under a name that says nothing of ours.
#[test]
fn a_sample_profile() {
    if !require_farm() {
        return;
    }
    let modules = |program: Program| {
        let calls = "int cold(int), hot(int);\nint main(int n, char **v) {\n  int s = 0;\n  for (int i = 0; i < 9; i++)\n    s += n > 9 ? cold(i) : hot(i);\n  return s & 1;\n}\n";
        let program = program.module("main.c", calls);
        let leaf = "int mix(int x) {\n  for (int i = 0; i < 7; i++)\n    x = x * 31 + (x >> 3);\n  return x;\n}\n";
        let middle = "int mix(int);\nint cold(int x) {\n  return mix(x) + mix(x + 1);\n}\nint hot(int x) {\n  return mix(x) * 2;\n}\n";
        program.module("middle.c", middle).module("leaf.c", leaf)
    };
    let profile = "main:90000:1\n 3: 9000\n 4: 9000\n 4.1: 9000 hot:9000\nhot:90000:9000\n 1: 9000 mix:9000\nmix:900000:9000\n 1: 63000\n 2: 63000\n";
    let flags = ["-O2", "-gline-tables-only", "-fdebug-info-for-profiling", "-fprofile-sample-use=the profile.txt"];
    let with = Program::new(Language::C, &flags);
    with.folder.write("the profile.txt", profile);
    let with = modules(with);
    let linked = same_everywhere(&with);

    let without = modules(Program::new(Language::C, &flags[..3]));
    let unprofiled = Link::in_process(&without).run().expect_success();
    assert!(linked.bytes != unprofiled.bytes, "the profile changes nothing here, so nothing was tested");
}

/// The linker writes the bitcode of such objects to files of their own.
#[test]
fn objects_with_machine_code_beside_the_bitcode() {
    if require_farm() {
        expect_small_c(&same_everywhere(&Program::small_c(&["-O2", "-ffat-lto-objects"])));
    }
}

/// Such a module stays in the linker; others neither import from it nor are imported by it.
#[test]
fn a_module_of_full_lto_and_one_of_machine_code() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    clang(program.folder.path(), &["-flto=full", "-O2", "-c", "twice.c"]);
    clang(program.folder.path(), &["-O2", "-c", "start.c"]);
    let linked = same_everywhere(&program);
    expect_small_c(&linked);
    assert_eq!(linked.total("jobs"), 2);
}

/// A script that runs the compiler, and one that is many programs, as LLVM's multicall binary is.
#[test]
fn another_way_to_the_compiler() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let script = "#!/bin/sh\nexec /usr/lib/llvm-22/bin/clang \"$@\"\n";
    let script = program.folder.write_executable("my tools/cc", script);
    expect_small_c(&through(&program, &[script.to_str().expect("UTF-8")]));

    let multicall = "#!/bin/sh\n[ \"$1\" = clang ] || exit 9\nshift\nexec /usr/lib/llvm-22/bin/clang \"$@\"\n";
    let multicall = program.folder.write_executable("llvm", multicall);
    expect_small_c(&through(&program, &[multicall.to_str().expect("UTF-8"), "clang"]));

    expect_small_c(&through(&program, &["/usr/bin/env", "-u", "NOBODY", "/usr/lib/llvm-22/bin/clang"]));
}

#[test]
fn ccache_before_the_compiler() {
    if !require_farm() || !require(&["ccache"]) {
        return;
    }
    let ccache = find_in_path("ccache").expect("it was found before");
    let program = Program::small_c(&["-O2"]);
    expect_small_c(&through(&program, &[ccache.to_str().expect("UTF-8"), "/usr/lib/llvm-22/bin/clang"]));
}

/// Links with these words in place of the compiler.
#[track_caller]
fn through(program: &Program, words: &[&str]) -> Linked {
    same_with(program, |link| {
        let (compiler, prepended) = words.split_first().expect("a compiler");
        let link = to_linker(link, &format!("--thinlto-remote-compiler={compiler}"));
        let prepend = |link, word: &&str| to_linker(link, &format!("--thinlto-remote-compiler-prepend-arg={word}"));
        prepended.iter().fold(link, prepend)
    })
}

fn to_linker<'p>(link: Link<'p>, option: &str) -> Link<'p> {
    link.argument("-Xlinker").argument(option)
}

/// What a stock host would take for a source, or refuse, when it saw it; it does not.
#[test]
fn compiler_options_that_a_host_would_refuse() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let plain = ["-march=x86-64-v2", "-DNAME=\"a b.c\\\\\"", "-fno-crash-diagnostics"];
    let refused = ["-x", "ir", "-Xclang", "-main-file-name", "-Xclang", "a\"b\\ c.c"];
    for options in [plain.as_slice(), refused.as_slice()] {
        let with_options = |link| {
            let option = |link, option: &&str| to_linker(link, &format!("--thinlto-remote-compiler-arg={option}"));
            options.iter().fold(link, option)
        };
        expect_small_c(&same_with(&program, with_options));

        let proxy = Proxy::recorder();
        with_options(Link::of(&program).hosts(proxy.host()).remote_only()).run().expect_success();
        let jobs: Vec<_> = proxy.take_requests().into_iter().filter(|request| request.is_job()).collect();
        let in_file = jobs.iter().all(|job| job.arguments.iter().any(|argument| argument.starts_with('@')));
        assert_eq!(in_file, options == refused, "{:?}", jobs[0].arguments);
    }
}
