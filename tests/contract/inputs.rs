//! Inputs that are not there or not what they should be: the job is named, exit 1, nothing is written.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::gate::Gate;
use crate::jobs::Jobs;
use crate::support::{Language, Link, Program, require};

/// Runs with this file gone, empty, and a folder, and puts it back.
#[track_caller]
fn refused(jobs: &Jobs, file: &str, module: &str) {
    let path = jobs.program.folder.join(file);
    let content = fs::read(&path).expect("readable");
    let check = |what: &str| {
        jobs.run(&[]).expect(1).says(&[module, file, what]);
        jobs.expect_no_objects();
    };
    fs::remove_file(&path).expect("removed");
    check("No such file");
    fs::write(&path, "").expect("written");
    check("empty");
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("created");
    check("");
    fs::remove_dir(&path).expect("removed");
    fs::write(&path, content).expect("written");
}

#[test]
fn an_input_that_is_missing_empty_or_a_folder_fails_before_anything_is_written() {
    let jobs = Jobs::two();
    let shard = jobs.description["jobs"][1]["inputs"][1].as_str().expect("a name").to_owned();
    refused(&jobs, "first.o", "job of first.o");
    // The second module is an import of the first job.
    refused(&jobs, "second.o", "second.o");
    refused(&jobs, &shard, "job of second.o");
    jobs.run(&[]).expect(0).silent();
    jobs.objects();
}

#[test]
fn a_profile_that_is_missing_is_named() {
    let mut jobs = Jobs::two();
    jobs.description["common"]["inputs"] = serde_json::json!(["no.profile"]);
    jobs.run(&[]).expect(1).says(&["no.profile", "No such file"]);
    jobs.expect_no_objects();
}

#[test]
fn a_shard_of_another_module_is_no_shard() {
    let jobs = Jobs::two();
    let shard = |job: usize| jobs.description["jobs"][job]["inputs"][1].as_str().expect("a name");
    fs::copy(jobs.program.folder.join(shard(1)), jobs.program.folder.join(shard(0))).expect("copied");
    jobs.run(&[]).expect(1).says(&["first.o"]);
    jobs.expect_no_objects();
}

#[test]
fn a_module_that_is_no_bitcode_fails_with_the_compiler_s_words() {
    let jobs = Jobs::two();
    let module = jobs.program.folder.join("second.o");
    let size = fs::metadata(&module).expect("there").len() as usize;
    for content in [b"!<arch>\n".to_vec(), vec![b'x'; size]] {
        fs::write(&module, content).expect("written");
        jobs.run(&[]).expect(1).says(&["backend compile of ", "error: "]);
        jobs.expect_no_objects();
    }
}

/// Names in bytes that are not UTF-8.
fn odd(text: &[u8]) -> &OsStr {
    OsStr::from_bytes(text)
}

#[test]
fn a_module_s_name_that_is_not_utf_8_is_refused_before_any_job_runs() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = Program::new(Language::C, &["-O2"]).module("main.c", "int f(void); int main(void) { return f(); }\n");
    let object = program.compile("f.c", "int f(void) { return 0; }\n");
    fs::rename(program.folder.join(object), program.folder.join(odd(b"b\xff.o"))).expect("renamed");
    let gate = program.folder.write_executable("compiler", "#!/bin/sh\n: >ran\nexec clang-22 \"$@\"\n");
    let compiler = format!("-Wl,--thinlto-remote-compiler={}", gate.display());
    let linked = Link::of(&program).argument(compiler).argument(odd(b"b\xff.o")).run().expect_failure();
    let line = linked.stderr.lines().find(|line| line.starts_with("thinbridge: error: ")).expect("a line of ours");
    assert!(line.contains("b\u{fffd}.o") && line.contains("not UTF-8") && line.contains("rename"), "{line}");
    assert!(!program.folder.join("ran").exists(), "a compile ran");
}

#[test]
fn an_output_folder_s_name_that_is_not_utf_8_is_refused_before_any_job_runs() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let folder = program.folder.join(odd(b"out-\xe9"));
    fs::create_dir(&folder).expect("created");
    let mut command = Link::of(&program).command();
    let output = crate::jobs::run(command.arg("-o").arg(odd(b"out-\xe9/program")));
    assert_eq!(output.code, Some(1), "{output:?}");
    output.says(&["thinbridge: error: ", "out-\u{fffd}/", "not UTF-8", "rename"]);
    assert_eq!(fs::read_dir(folder).expect("readable").count(), 0);
}

#[test]
fn a_link_below_a_folder_whose_name_is_not_utf_8_works_with_relative_names() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let folder = program.folder.join(odd(b"caf\xe9"));
    fs::create_dir(&folder).expect("created");
    for input in &program.inputs {
        fs::copy(program.folder.join(input), folder.join(input)).expect("copied");
    }
    let linked = Link::of(&program).run_in(odd(b"caf\xe9")).run().expect_success();
    assert_eq!(linked.output(), crate::support::SMALL_C_OUTPUT);
}

#[test]
fn an_input_that_vanishes_while_the_link_runs_does_not_crash_it() {
    let jobs = Jobs::two();
    let gate = Gate::new(&jobs.program.folder);
    let jobs = jobs.compiler(&gate.compiler);
    let child = crate::jobs::start(&mut jobs.command(&["--local-slots=1"]));
    let (arrivals, ..) = gate.arrivals().next();
    fs::write(jobs.program.folder.join("second.o"), "").expect("written");
    let _open = gate.open();
    crate::jobs::finish(child).expect(1).says(&["backend compile of "]);
    arrivals.expect_gone();
    jobs.expect_no_objects();
}
