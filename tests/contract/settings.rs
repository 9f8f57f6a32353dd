//! Where settings come from, and that distcc's own variables mean what they mean to distcc.

use std::fs;

use serde_json::Value;

use crate::hosts::names;
use crate::jobs::{Jobs, namespace, run};
use crate::support::{Link, Program, Scripted, Volunteer, refused_port, require, require_farm, skip};

/// Every place that a host list may come from, highest first: what sets it, and the host that it then names. Nobody
/// listens at these ports.
const SOURCES: [(&str, &str); 8] = [
    ("set -- \"$@\" --hosts=127.0.0.1:1", "127.0.0.1:1"),
    ("export THINBRIDGE_HOSTS=127.0.0.1:2", "127.0.0.1:2"),
    (
        "mkdir -p home/config/thinbridge; echo 'hosts = \"127.0.0.1:3\"' >home/config/thinbridge/config.toml",
        "127.0.0.1:3",
    ),
    ("mkdir -p /etc/thinbridge; echo 'hosts = [\"127.0.0.1:4\"]' >/etc/thinbridge/config.toml", "127.0.0.1:4"),
    ("export DISTCC_HOSTS=127.0.0.1:5", "127.0.0.1:5"),
    ("mkdir -p distcc; echo 127.0.0.1:6 >distcc/hosts; export DISTCC_DIR=$PWD/distcc", "127.0.0.1:6"),
    ("mkdir -p home/.distcc; echo '127.0.0.1:7 # us' >home/.distcc/hosts", "127.0.0.1:7"),
    ("mkdir -p /etc/distcc; echo 'me@far localhost:8 127.0.0.1/3 127.9.9.9 [::1]' >/etc/distcc/hosts", "me@far"),
];

/// Begins a script in a namespace: an `/etc` that may be written, and no list anywhere.
const OWN_ETC: &str = "mount -t tmpfs -o mode=755 tmpfs /mnt && cp -a /etc /mnt/ 2>/dev/null\n\
                       mount --bind /mnt/etc /etc || exit 99\n\
                       rm -rf /etc/thinbridge /etc/distcc home/config home/.distcc report.json\n\
                       export DISTCC_SSH=false\n";

/// Ends it: the options come before the job description.
const GO: &str = "program=$1 report=$2 jobs=$3; shift 3\nexec \"$program\" \"$report\" \"$@\" \"$jobs\"\n";

fn in_own_etc(jobs: &Jobs, launcher: &[&str], settings: &[&str]) -> (Value, String) {
    let settings = settings.iter().map(|line| format!("{line}\n")).collect::<String>();
    // Options are collected behind the three words that are there.
    let script = format!("{OWN_ETC}{settings}{GO}");
    let mut command = jobs.scripted(launcher, &script, &["--report=report.json"]);
    let ended = run(&mut command).expect(0);
    let text = fs::read(jobs.program.folder.join("report.json")).expect("a report");
    (serde_json::from_slice(&text).expect("JSON"), ended.stderr)
}

#[test]
fn the_host_list_comes_from_the_first_place_that_has_one() {
    if !require(&["clang-22", "ld.lld-22", "unshare"]) {
        return;
    }
    let Some(launcher) = namespace() else {
        skip("no mount namespace may be made");
        return;
    };
    let jobs = Jobs::two();
    let lines = SOURCES.map(|source| source.0);
    for (from, (_, host)) in SOURCES.iter().enumerate() {
        let (report, _) = in_own_etc(&jobs, launcher, &lines[from..]);
        assert_eq!(names(&report).first(), Some(host), "{:#?}", &lines[from..]);
        assert!(from == 7 || names(&report).len() == 1, "{report}");
    }
    let (report, words) = in_own_etc(&jobs, launcher, &[]);
    assert_eq!((names(&report).len(), words.as_str()), (0, ""));
}

#[test]
fn loopback_in_the_system_s_list_is_left_out_with_one_line() {
    if !require(&["clang-22", "ld.lld-22", "unshare"]) {
        return;
    }
    let Some(launcher) = namespace() else {
        skip("no mount namespace may be made");
        return;
    };
    let jobs = Jobs::two();
    let (report, words) = in_own_etc(
        &jobs,
        launcher,
        &["mkdir /etc/distcc; echo '127.0.0.1' >/etc/distcc/hosts", "export THINBRIDGE_VERBOSE=off"],
    );
    assert_eq!(words.lines().count(), 1, "{words}");
    assert!(words.contains("/etc/distcc/hosts") && words.contains("127.0.0.1"), "{words}");
    assert_eq!(report["totals"]["fallbacks"], 0);
    let (report, words) = in_own_etc(&jobs, launcher, &[SOURCES[7].0]);
    let lines = words.lines().filter(|line| line.contains("left out")).count();
    assert_eq!(lines, 1, "one line for all of them: {words}");
    // All of 127.0.0.0/8 and ::1 is this machine.
    for host in report["hosts"].as_array().expect("hosts").iter().skip(1) {
        let reason = host["reasons"][0].as_str().expect("a reason");
        assert!(reason.contains("/etc/distcc/hosts"), "{host}");
    }
}

#[test]
fn configuration_files_are_merged_key_by_key() {
    if !require(&["clang-22", "ld.lld-22", "unshare"]) {
        return;
    }
    let Some(launcher) = namespace() else {
        skip("no mount namespace may be made");
        return;
    };
    let jobs = Jobs::two();
    let system = "hosts = \\\"127.0.0.1:1\\\"\\nfallback = false\\nreport = \\\"system.json\\\"\\nverbose = true\\n";
    let user = "fallback = \\\"on\\\"\\nreport = \\\"user.json\\\"\\n";
    let script = format!(
        "{OWN_ETC}mkdir -p /etc/thinbridge home/config/thinbridge\nprintf \"{system}\" >/etc/thinbridge/config.toml\n\
         printf \"{user}\" >home/config/thinbridge/config.toml\nexec \"$@\"\n"
    );
    let ended = run(&mut jobs.scripted(launcher, &script, &[])).expect(0);
    assert!(ended.stderr.contains("2 jobs: "), "verbose is the system's: {}", ended.stderr);
    let report = fs::read(jobs.program.folder.join("user.json")).expect("the report is where the user wants it");
    assert_eq!(names(&serde_json::from_slice(&report).expect("JSON")), ["127.0.0.1:1"]);
    assert!(!jobs.program.folder.join("system.json").exists());
}

#[test]
fn a_flag_counts_before_the_environment_before_the_file_before_the_default() {
    let jobs = Jobs::two();
    let host = format!("--hosts=127.0.0.1:{}", refused_port());
    let file = |text: &str| jobs.program.folder.write("home/config/thinbridge/config.toml", text);
    let code = |options: &[&str], environment: &[(&str, &str)]| {
        let options = [&[host.as_str(), "--local-slots=0"], options].concat();
        run(jobs.command(&options).envs(environment.iter().copied())).code
    };
    file("");
    assert_eq!(code(&[], &[]), Some(0), "default");
    file("fallback = false");
    assert_eq!(code(&[], &[]), Some(3), "file");
    assert_eq!(code(&[], &[("DISTCC_FALLBACK", "1")]), Some(0), "distcc's variable over the file");
    assert_eq!(code(&[], &[("DISTCC_FALLBACK", "0"), ("THINBRIDGE_FALLBACK", "on")]), Some(0), "ours over distcc's");
    assert_eq!(code(&["--fallback=off"], &[("THINBRIDGE_FALLBACK", "on")]), Some(3), "flag over environment");
    assert_eq!(code(&["--fallback=off", "--fallback=on"], &[]), Some(0), "the last flag");
    assert_eq!(code(&["--fallback", "on"], &[]), Some(0), "two words");
    assert_eq!(code(&[], &[("THINBRIDGE_FALLBACK", "")]), Some(3), "an empty variable is none");
}

#[test]
fn a_fault_in_a_setting_is_named_with_its_place() {
    let jobs = Jobs::two();
    let file = |text: &str| jobs.program.folder.write("home/config/thinbridge/config.toml", text);
    let refused = |options: &[&str], name: &str, value: &str, words: &[&str]| {
        run(jobs.command(options).env(name, value)).expect(2).says(words);
        jobs.expect_no_objects();
    };
    refused(&["--local-slots=many"], "A", "b", &["--local-slots", "many", "0 to 1024"]);
    refused(&["--verify=2"], "A", "b", &["--verify", "2", "0 to 1"]);
    refused(&["--max-fallback=NaN"], "A", "b", &["--max-fallback", "NaN"]);
    refused(&["--fallback=yes"], "A", "b", &["--fallback", "yes", "on or off"]);
    refused(&["--hots=a"], "A", "b", &["--hots", "--hosts"]);
    refused(&["stray"], "A", "b", &["stray"]);
    refused(&[], "THINBRIDGE_VERIFY", "-1", &["THINBRIDGE_VERIFY", "-1"]);
    refused(&[], "THINBRIDGE", "maybe", &["THINBRIDGE", "maybe", "on or off"]);
    refused(&["--icecream=[::1]:8765"], "A", "b", &["--icecream", "[::1]:8765", "IPv4"]);
    refused(&["--icecream-protocol=44"], "A", "b", &["--icecream-protocol", "44", "30 to 43"]);
    refused(&["--icecream=unix:/x"], "THINBRIDGE_ICECREAM_SHIP", "off", &["unix:PATH", "--icecream-ship", "HOST"]);
    refused(&[], "THINBRIDGE_ICECREAM", "on", &["THINBRIDGE_ICECREAM=on", "auto"]);
    refused(&[], "DISTCC_FALLBACK", "perhaps", &["DISTCC_FALLBACK", "perhaps"]);
    refused(&[], "DISTCC_IO_TIMEOUT", "0", &["DISTCC_IO_TIMEOUT", "at least 1"]);
    file("verbose = true\nlocal-slots = \"x\"\n");
    refused(&[], "A", "b", &["config.toml:2:15: ", "local-slots"]);
    file("icecream = true\n");
    refused(&[], "A", "b", &["config.toml:1:12: ", "icecream", "auto"]);
    file("hosts = \"a\n");
    refused(&[], "A", "b", &["config.toml:1:", "not TOML"]);
    file("host = \"a\"");
    refused(&[], "A", "b", &["config.toml:1:1: ", "'host'", "hosts"]);
}

#[test]
fn a_bad_host_list_is_refused_with_the_token_and_its_place() {
    let jobs = Jobs::two();
    let refused = |list: &str, words: &[&str]| {
        jobs.run(&[&format!("--hosts={list}")]).expect(2).says(&["--hosts: "]).says(words);
        jobs.expect_no_objects();
    };
    refused("good bad:port", &["line 1, column 6", "\"bad:port\"", "port"]);
    refused("a/0", &["column 1", "a/0"]);
    refused("a/2,fast", &["a/2,fast", "fast"]);
    refused("a\n# comment\nb [::1", &["line 3, column 3", "[::1"]);
    refused("--shuffle a", &["--shuffle"]);
    refused("a:99999999999999999999", &["column 1"]);
    let named = |name: &str, value: &str, place: &str| {
        run(jobs.command(&[]).env(name, value)).expect(2).says(&[place, "b/x", "line 1, column 3"]);
    };
    named("THINBRIDGE_HOSTS", "a b/x", "THINBRIDGE_HOSTS: ");
    named("DISTCC_HOSTS", "a b/x", "DISTCC_HOSTS: ");
    let folder = &jobs.program.folder;
    folder.write("distcc/hosts", "a b/x\n");
    named("DISTCC_DIR", folder.join("distcc").to_str().expect("UTF-8"), "distcc/hosts: ");
    folder.write("home/config/thinbridge/config.toml", "hosts = \"a b/x\"");
    named("A", "b", "config.toml: ");
}

#[test]
fn a_list_that_clang_split_at_its_commas_is_joined_again() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let list = "127.0.0.1:1/2,lzo,cpp 127.0.0.1:2,lzo localhost/2";
    let linked = Link::of(&program).hosts(list).hosts("127.0.0.1:3/1,down").run().expect_success();
    assert_eq!(names(linked.report()), ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]);
    assert_eq!(linked.total("local"), 4);
}

#[test]
fn switched_off_or_inside_distcc_nobody_is_called() {
    let jobs = Jobs::two();
    let peer = Scripted::always(crate::support::Behaviour::Close);
    let hosts = format!("--hosts={}", peer.host());
    for (name, value) in [("THINBRIDGE", "off"), ("_DISTCC_SAFEGUARD", "1")] {
        run(jobs.command(&[&hosts]).env(name, value)).expect(0).silent();
        jobs.objects();
        jobs.remove_outputs();
        run(jobs.command(&[&hosts, "--verbose=on"]).env(name, value)).expect(0).says(&[name]);
    }
    assert_eq!(peer.accepted(), 0);
    run(jobs.command(&[&hosts, "--local-slots=0"]).env("THINBRIDGE", "on")).expect(0);
    assert!(peer.accepted() > 0, "the hosts are used when nothing forbids it");
}

#[test]
fn without_fallback_a_list_of_hosts_that_are_all_left_out_ends_the_link_with_3() {
    let jobs = Jobs::two();
    jobs.run(&["--fallback=off", "--hosts=far,auth other,down"]).expect(3).says(&["--hosts", "left out"]);
    jobs.expect_no_objects();
    jobs.run(&["--hosts=far,auth other,down"]).expect(0);
}

#[test]
fn without_fallback_dead_hosts_end_the_link_with_3_and_no_object() {
    let jobs = Jobs::two();
    let port = refused_port();
    let host = format!("127.0.0.1:{port}");
    let command = |option: &str| jobs.command(&[&format!("--hosts={host}"), "--local-slots=0", option]);
    run(command("--verbose=off").env("DISTCC_FALLBACK", "0")).expect(3).says(&["--fallback", &host, "refused"]);
    jobs.expect_no_objects();
    run(&mut command("--fallback=off")).expect(3).says(&[&host]);
    jobs.expect_no_objects();
    run(&mut command("--max-fallback=0.4")).expect(3).says(&["--max-fallback", "0.4", &host]);
    jobs.expect_no_objects();
    run(&mut command("--max-fallback=1")).expect(0).says(&[&host]);
    jobs.objects();
}

#[test]
fn without_hosts_nothing_can_fall_back() {
    let jobs = Jobs::two();
    jobs.run(&["--hosts=", "--fallback=off", "--max-fallback=0", "--local-slots=0"]).expect(0).silent();
    jobs.objects();
}

#[test]
fn a_log_file_takes_our_lines_and_leaves_the_compilers_words() {
    let jobs = Jobs::two();
    let wrapper = "#!/bin/sh\necho the compiler speaks >&2\nexec clang-22 \"$@\"\n";
    let compiler = jobs.program.folder.write_executable("compiler", wrapper);
    let jobs = jobs.compiler(&compiler);
    let log = jobs.program.folder.join("log");
    let command = |slots: &str, fallback: &str| {
        let mut command = jobs.command(&["--hosts=127.0.0.1:1", slots, fallback]);
        command.env("DISTCC_LOG", &log).env("DISTCC_VERBOSE", "1");
        command
    };
    let ended = run(&mut command("--local-slots=0", "--fallback=on")).expect(0);
    assert_eq!(ended.stderr, "the compiler speaks\nthe compiler speaks\n");
    let lines = fs::read_to_string(&log).expect("a log");
    assert!(lines.lines().all(|line| line.starts_with("thinbridge: ")), "{lines}");
    assert!(lines.contains("127.0.0.1:1") && !lines.contains("speaks"), "{lines}");
    // Why a link fails is told on stderr too, and a log is only ever added to.
    run(&mut command("--local-slots=0", "--fallback=off")).expect(3);
    let longer = fs::read_to_string(&log).expect("a log");
    assert!(longer.starts_with(&lines) && longer.contains("thinbridge: error: "), "{longer}");
    run(command("--local-slots=0", "--fallback=on").env("DISTCC_LOG", "/nowhere/log"))
        .expect(0)
        .says(&["/nowhere/log", "cannot write"]);
}

#[test]
fn a_slow_host_is_given_up_after_distcc_s_own_timeout() {
    let jobs = Jobs::two();
    let sleeper = crate::hosts::Sleeper::start();
    let mut command = jobs.command(&[&format!("--hosts={}", sleeper.peer.host()), "--report=report.json"]);
    let report = jobs.report_of(command.env("DISTCC_IO_TIMEOUT", "1"));
    assert_eq!(report["totals"]["local"], 2, "{report}");
}

#[test]
fn verbose_tells_where_each_job_runs() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let host = Volunteer::start();
    let link =
        |value: &str| Link::of(&program).hosts(host.host()).option("--local-slots=0").env("DISTCC_VERBOSE", value);
    let quiet = link("0").run().expect_success();
    assert_eq!(quiet.stderr, "");
    let loud = link("1").run().expect_success();
    assert!(loud.stderr.contains(&host.name()), "{}", loud.stderr);
    for module in &program.inputs {
        assert!(loud.stderr.lines().any(|line| line.contains(module.as_str())), "{module}: {}", loud.stderr);
    }
}
