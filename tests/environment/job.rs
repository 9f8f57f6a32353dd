//! A job in the entry program, with a stand-in for the compiler.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use thinbridge_protocol::bundle::{BAD_BUNDLE, BAD_OBJECT, INCOMPLETE_ENVIRONMENT, MESSAGE_PREFIX};

use crate::laid_out::{LaidOut, bundle, feed};
use crate::support::{require, skip};

const NEEDED: [&str; 1] = ["clang-22"];

#[test]
fn the_files_are_laid_out_and_the_object_comes_back() {
    if !require(&NEEDED) {
        return;
    }
    let environment = LaidOut::stand_in();
    let large = vec![7; 3_000_000];
    let files: &[(&str, &[u8])] = &[("a/b/c", b"one"), ("empty", b""), ("a/d", &large), ("two words", b"two")];
    let ended = environment.run(bundle(&["cat", "a/b/c", "empty", "two words", "a/d"], files));
    assert_eq!(ended.stderr, "");
    assert!(ended.status.success());
    assert_eq!(ended.object, [&b"\x7fELFonetwo"[..], &large].concat());
}

#[test]
fn the_compiler_s_status_and_words_pass_through() {
    if !require(&NEEDED) {
        return;
    }
    let environment = LaidOut::stand_in();
    let ended = environment.run(bundle(&["exit", "70"], &[]));
    assert_eq!((ended.status.code(), &*ended.stderr, &*ended.stdout), (Some(70), "an error\n", "a word\n"));
    assert_eq!(ended.object, b"");
    assert_eq!(environment.run(bundle(&["die", "11"], &[])).status.code(), Some(128 + 11));
}

#[test]
fn the_compiler_gets_a_clean_environment() {
    if !require(&NEEDED) {
        return;
    }
    let environment = LaidOut::stand_in();
    let ended = environment.run(bundle(&["environment"], &[]));
    let text = String::from_utf8(ended.object).unwrap();
    let mut names: Vec<&str> =
        text.trim_start_matches("\x7fELF").lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LC_ALL", "PATH", "TMPDIR", "cwd"]);
    assert!(text.contains(&format!("\ncwd={}/thinbridge.", environment.tmp.display())), "{text}");
}

#[test]
fn no_object_or_no_real_one_is_told_from_success() {
    if !require(&NEEDED) {
        return;
    }
    let environment = LaidOut::stand_in();
    for what in ["nothing", "junk"] {
        let ended = environment.run(bundle(&[what], &[]));
        assert_eq!(ended.status.code(), Some(BAD_OBJECT.into()), "{what}: {}", ended.stderr);
        assert!(ended.stderr.starts_with(MESSAGE_PREFIX), "{}", ended.stderr);
        assert_eq!(ended.object, b"");
    }
}

#[test]
fn files_that_are_missing_or_cut_are_noticed_before_the_job() {
    if !require(&NEEDED) {
        return;
    }
    let job = || bundle(&["cat"], &[]);
    let noticed = |spoil: &dyn Fn(&LaidOut), expected: &str| {
        let environment = LaidOut::stand_in();
        spoil(&environment);
        let ended = environment.run(job());
        assert_eq!(ended.status.code(), Some(INCOMPLETE_ENVIRONMENT.into()), "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
        let tested = Command::new(environment.program("bin/true")).output().unwrap();
        assert_eq!(tested.status.code(), Some(INCOMPLETE_ENVIRONMENT.into()));
        assert!(String::from_utf8_lossy(&tested.stderr).contains(expected));
    };
    let compiler = |environment: &LaidOut| {
        let manifest = fs::read_to_string(environment.program("thinbridge.manifest")).unwrap();
        let path = manifest.lines().find_map(|line| line.strip_prefix("compiler /")).unwrap().to_owned();
        environment.program(&path)
    };
    noticed(&|it| fs::remove_file(compiler(it)).unwrap(), "No such file");
    noticed(&|it| drop(fs::File::options().append(true).open(compiler(it)).unwrap().write(b"x")), "bytes instead of");
    noticed(&|it| fs::remove_file(it.program("thinbridge.manifest")).unwrap(), "thinbridge.manifest");
    noticed(&|it| fs::write(it.program("thinbridge.manifest"), [0; 900]).unwrap(), "manifest");
    // What a full disk leaves: the right size, zeros at the end.
    let full_disk = |environment: &LaidOut| {
        let path = compiler(environment);
        let mut content = fs::read(&path).unwrap();
        let length = content.len();
        content[length - 5000..].fill(0);
        fs::write(path, content).unwrap();
    };
    noticed(&full_disk, "damaged");
    noticed(&|it| fs::set_permissions(compiler(it), fs::Permissions::from_mode(0o644)).unwrap(), "cannot start");
}

#[test]
fn the_self_test_reads_every_byte_and_starts_the_compiler() {
    if !require(&NEEDED) {
        return;
    }
    let environment = LaidOut::stand_in();
    assert!(Command::new(environment.program("bin/true")).status().unwrap().success());
    assert!(Command::new(environment.program("usr/bin/as")).status().unwrap().success());
    // A byte in the middle of the entry program's own file, which the running program does not use.
    let own = environment.program("usr/bin/clang");
    let mut content = fs::read(&own).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(environment.program("damaged"), &content).unwrap();
    let manifest = environment.program("thinbridge.manifest");
    let text = fs::read_to_string(&manifest).unwrap().replace(" /usr/bin/clang\n", " /damaged\n");
    fs::write(&manifest, text).unwrap();
    let tested = Command::new(environment.program("bin/true")).output().unwrap();
    assert_eq!(tested.status.code(), Some(INCOMPLETE_ENVIRONMENT.into()));
    assert!(String::from_utf8_lossy(&tested.stderr).contains("/damaged: the content is damaged"));
}

#[test]
fn a_signal_ends_the_compiler_and_leaves_nothing() {
    if !require(&NEEDED) {
        return;
    }
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let environment = LaidOut::stand_in();
        let mut child = environment.command().spawn().unwrap();
        child.stdin.take().unwrap().write_all(&bundle(&["wait"], &[("a/b", b"x")])).unwrap();
        let mut said = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut said).unwrap();
        assert_eq!(said, "waiting\n");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(128 + signal.as_raw()));
        assert_eq!(environment.left(), ["icecc-2_3a656873.o"]);
        // The compiler held the other end of the pipe.
        assert_eq!(stdout.read_line(&mut said).unwrap(), 0);
    }
}

#[test]
fn a_signal_while_the_bundle_arrives_leaves_nothing() {
    if !require(&NEEDED) {
        return;
    }
    let environment = LaidOut::stand_in();
    let mut child = environment.command().spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut bytes = bundle(&["cat"], &[("a", &[1; 100_000]), ("b", b"rest")]);
    bytes.truncate(bytes.len() - 1);
    // More than the pipe holds: when all is written, the folder is there.
    stdin.write_all(&bytes).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(environment.left(), ["icecc-2_3a656873.o"]);
}

#[test]
fn a_job_that_was_killed_outright_takes_its_compiler_along_and_the_next_removes_its_folder() {
    if !require(&NEEDED) {
        return;
    }
    let environment = LaidOut::stand_in();
    let mut child = environment.command().spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bundle(&["wait"], &[])).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    // Both ends of the pipe's other side are closed when the compiler is gone too.
    assert_eq!(stdout.read_line(&mut String::new()).unwrap(), 0);
    assert_eq!(environment.left().len(), 2);
    assert!(test_kill_process(Pid::from_child(&child)).is_err());
    assert!(environment.run(bundle(&["cat"], &[])).status.success());
}

#[test]
fn a_full_disk_is_told_in_the_words_that_a_compile_server_knows() {
    if !require(&["clang-22", "unshare"]) {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        skip("only root can mount a small disk");
        return;
    }
    let environment = LaidOut::stand_in();
    let entry = environment.program("usr/bin/clang");
    let script = "mount -t tmpfs -o size=1m none \"$1\" && cd \"$1\" && exec \"$2\" -o out.o";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&environment.tmp).arg(entry);
    let child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let (status, _, stderr) = feed(child, bundle(&["cat"], &[("large", &vec![1; 3_000_000])]));
    assert_eq!(status.code(), Some(INCOMPLETE_ENVIRONMENT.into()), "{stderr}");
    assert!(stderr.contains("o space left on device"), "{stderr}");
}

#[test]
fn a_server_that_names_no_output_is_told_so() {
    if !require(&NEEDED) {
        return;
    }
    let environment = LaidOut::stand_in();
    let mut command = Command::new(environment.program("usr/bin/clang"));
    command.args(["-c", "-"]).stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let (status, _, stderr) = feed(command.spawn().unwrap(), bundle(&["cat"], &[("x", &[0; 200_000])]));
    assert_eq!(status.code(), Some(INCOMPLETE_ENVIRONMENT.into()));
    assert!(stderr.contains("named no output"), "{stderr}");
    assert_ne!(status.code(), Some(BAD_BUNDLE.into()));
}
