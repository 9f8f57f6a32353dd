//! Objects are put under their names whole or not at all.

use std::fs;

use crate::jobs::{Jobs, namespace, run};
use crate::support::{require, skip};

/// Exit 1, the job and the object named, and no other file left than there was.
#[track_caller]
fn cannot_be_written(jobs: &Jobs, object: &str, why: &str) {
    jobs.command(&[]);
    let before = jobs.files();
    jobs.run(&[]).expect(1).says(&["job of second.o", object, why]);
    assert_eq!(jobs.files(), before);
}

#[test]
fn a_folder_that_is_missing() {
    cannot_be_written(&Jobs::two().output(1, "nowhere/second.o"), "nowhere/second.o", "No such file");
}

#[test]
fn a_file_in_place_of_the_folder() {
    let jobs = Jobs::two().output(1, "second.o/object.o");
    cannot_be_written(&jobs, "second.o/object.o", "Not a directory");
}

#[test]
fn a_folder_in_place_of_the_object() {
    let jobs = Jobs::two().output(1, "taken");
    fs::create_dir(jobs.program.folder.join("taken")).expect("created");
    cannot_be_written(&jobs, "taken", "");
    assert!(jobs.program.folder.join("taken").is_dir());
}

/// Runs with `small`, a file system of its own, as the folder of the second object.
fn on_a_file_system(options: &str, why: &str) {
    let Some(launcher) = namespace() else {
        skip("no mount namespace may be made");
        return;
    };
    let jobs = Jobs::two().output(1, "small/second.o");
    fs::create_dir(jobs.program.folder.join("small")).expect("created");
    let mount = format!("mount -t tmpfs -o {options} tmpfs small || exit 99\n");
    let script = mount
        + "head -c 1000000 /dev/zero >small/other 2>/dev/null\n\"$@\"; status=$?; ls -A small >left; exit $status";
    run(&mut jobs.scripted(launcher, &script, &[])).expect(1).says(&["job of second.o", "small/second.o", why]);
    let left = fs::read_to_string(jobs.program.folder.join("left")).expect("readable");
    assert!(left == "other\n" || left.is_empty(), "{left}");
    assert!(!jobs.outputs()[0].exists(), "the first object was left");
}

#[test]
fn a_full_file_system_gets_no_half_an_object() {
    if require(&["unshare", "clang-22", "ld.lld-22"]) {
        on_a_file_system("size=64k", "No space left");
    }
}

#[test]
fn a_file_system_without_room_for_one_more_file() {
    if require(&["unshare", "clang-22", "ld.lld-22"]) {
        on_a_file_system("nr_inodes=2", "No space left");
    }
}

#[test]
fn a_read_only_folder() {
    if require(&["unshare", "clang-22", "ld.lld-22"]) {
        on_a_file_system("ro", "Read-only file system");
    }
}

/// Without it a file that has no name yet cannot be given one.
#[test]
fn a_machine_without_proc() {
    let Some(launcher) = namespace().filter(|_| require(&["unshare", "clang-22", "ld.lld-22"])) else {
        skip("no mount namespace may be made");
        return;
    };
    let jobs = Jobs::two();
    run(&mut jobs.scripted(launcher, "mount -t tmpfs tmpfs /proc || exit 99\n\"$@\"", &[])).expect(0);
    assert_eq!(jobs.objects().len(), 2);
}

#[test]
fn an_object_that_is_there_already_is_replaced_and_its_other_names_are_not_touched() {
    let jobs = Jobs::two();
    jobs.run(&[]).expect(0).silent();
    let (expected, outputs) = (jobs.objects(), jobs.outputs());
    let other_name = jobs.program.folder.join("other-name");
    fs::write(&outputs[0], vec![b'x'; 1 << 20]).expect("written");
    fs::hard_link(&outputs[0], &other_name).expect("linked");
    jobs.run(&[]).expect(0).silent();
    assert_eq!(jobs.objects(), expected);
    assert_eq!(fs::read(other_name).expect("readable"), vec![b'x'; 1 << 20]);
}

#[test]
fn objects_have_the_mode_that_the_user_s_mask_leaves() {
    use std::os::unix::fs::PermissionsExt;
    let jobs = Jobs::two();
    run(&mut jobs.scripted(&["env"], "umask 027; exec \"$@\"", &[])).expect(0).silent();
    let mode = fs::metadata(&jobs.outputs()[0]).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_failed_compile_takes_the_other_objects_with_it() {
    let program = crate::support::Program::new(crate::support::Language::C, &["-O2"])
        .module("good.c", "int bad(void);\nint main(void) { return bad(); }\n")
        .module("bad.c", "int bad(void) { __asm__(\".warning \\\"x\\\"\"); return 0; }\n");
    let mut jobs = Jobs::of(program);
    fs::write(jobs.program.folder.join("shell"), "").expect("written");
    let failing = "#!/bin/sh\nfor word; do [ \"$word\" != bad.o ] || { echo \"it does not like it\" >&2; exit 7; }; done\n\
                   exec clang-22 \"$@\"\n";
    let compiler = jobs.program.folder.write_executable("compiler", failing);
    jobs = jobs.compiler(&compiler);
    let ended = jobs.run(&["--local-slots=1"]).expect(1).says(&["backend compile of bad.o failed", "status 7"]);
    assert_eq!(ended.stderr.matches("it does not like it").count(), 1);
    jobs.expect_no_objects();
}
