//! Hosts behind ssh, with a stand-in for it.

use std::fs;

use crate::jobs::Jobs;
use crate::support::{Link, Program, ROOT, SMALL_C_OUTPUT, fake_ssh, require_farm};

#[test]
fn jobs_run_through_ssh() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let ssh = fake_ssh(&program.folder);
    let expected = Link::in_process(&program).run().expect_success();
    let linked = Link::of(&program).hosts("@far/2").remote_only().env("DISTCC_SSH", ssh).run().expect_success();
    assert_eq!((linked.total("remote"), linked.output().as_str()), (4, SMALL_C_OUTPUT));
    linked.expect_same_bytes(&expected);
    assert_eq!(crate::hosts::names(linked.report()), ["@far"]);
}

#[test]
fn ssh_gets_its_own_arguments_the_user_the_host_and_the_command() {
    let jobs = Jobs::two();
    let script = "#!/bin/sh\nprintf '%s\\n' \"$@\" >>arguments\necho 'Permission denied (publickey).' >&2\nexit 255\n";
    let ssh = jobs.program.folder.write_executable("ssh", script);
    let ssh = format!("{}  -p 2222 -oBatchMode=yes", ssh.display());
    let arguments = |host: &str| {
        let mut command = jobs.command(&["--hosts", host, "--local-slots=0", "--report=report.json"]);
        let report = jobs.report_of(command.env("DISTCC_SSH", &ssh));
        let reasons = report["hosts"][0]["reasons"].to_string();
        assert!(reasons.contains("Permission denied (publickey)."), "the reason is ssh's own: {reasons}");
        let file = jobs.program.folder.join("arguments");
        let text = fs::read_to_string(&file).expect("ssh was called");
        fs::remove_file(file).expect("removed");
        text
    };
    let text = arguments("me@far/7:/opt/distcc/bin/distccd");
    assert!(text.starts_with("-p\n2222\n-oBatchMode=yes\n-l\nme\nfar\n/opt/distcc/bin/distccd\n--inetd\n"), "{text}");
    let text = arguments("@far");
    assert!(text.starts_with("-p\n2222\n-oBatchMode=yes\nfar\ndistccd\n--inetd\n"), "{text}");
}

#[test]
fn an_ssh_that_is_not_there_is_a_host_s_failure() {
    let jobs = Jobs::two();
    let mut command = jobs.command(&["--hosts=@far", "--local-slots=0", "--report=report.json"]);
    let report = jobs.report_of(command.env("DISTCC_SSH", "/nowhere/ssh"));
    assert_eq!(report["totals"]["local"], 2, "{report}");
    let reasons = report["hosts"][0]["reasons"].to_string();
    assert!(reasons.contains("/nowhere/ssh") && reasons.contains("No such file"), "{reasons}");
}

#[test]
fn an_ssh_that_answers_nonsense_is_a_host_s_failure() {
    let jobs = Jobs::two();
    let ssh = jobs.program.folder.write_executable("ssh", "#!/bin/sh\necho 'Welcome to this machine. It is Monday.'\n");
    let mut command = jobs.command(&["--hosts=@far", "--local-slots=0", "--report=report.json"]);
    let report = jobs.report_of(command.env("DISTCC_SSH", ssh));
    assert_eq!(report["totals"]["local"], 2, "{report}");
    let reasons = report["hosts"][0]["reasons"].to_string();
    assert!(reasons.contains("Welc"), "what came instead is told: {reasons}");
}

/// A pipe holds 64 KiB; ssh stops when nobody takes its words.
#[test]
fn an_ssh_that_says_a_lot_before_it_connects_is_no_worse() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let script =
        format!("#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' x >&2\nexec '{ROOT}/integration/volunteer' --inetd\n");
    let ssh = program.folder.write_executable("ssh", &script);
    let linked = Link::of(&program).hosts("@far/2").remote_only().env("DISTCC_SSH", ssh).run().expect_success();
    assert_eq!(linked.total("remote"), 4);
}

/// sshd begins to drop connections when more than ten are not logged in.
#[test]
fn connections_do_not_start_in_one_burst() {
    if !require_farm() {
        return;
    }
    let main = (0..15).fold(Program::small_c(&["-O1"]), |program, n| {
        program.module(&format!("more{n}.c"), &format!("int more{n}(int x) {{ return x * {n}; }}\n"))
    });
    let folder = &main.folder;
    for name in ["login", "seen"] {
        fs::create_dir(folder.join(name)).expect("created");
    }
    // A login takes its time; while it lasts, its mark stands.
    let script = format!(
        "#!/bin/sh\ncd '{}'\n: >login/$$\nls login | wc -l >seen/$$\nsleep 0.3\nrm login/$$\n\
         exec '{ROOT}/integration/volunteer' --inetd\n",
        folder.path().display()
    );
    let ssh = folder.write_executable("ssh", &script);
    let linked = Link::of(&main).hosts("@far/16").option("--local-slots=0").env("DISTCC_SSH", ssh).run();
    assert!(linked.expect_success().total("remote") > 10);
    let seen = fs::read_dir(folder.join("seen")).expect("readable");
    let number = |path| fs::read_to_string(path).expect("readable").trim().parse::<usize>().expect("a number");
    let most = seen.map(|entry| number(entry.expect("an entry").path())).max();
    assert!(most <= Some(10), "{most:?} at the same time");
}
