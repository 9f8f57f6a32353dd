//! Real links through stock daemons that are set up in some way that does not serve.

use crate::support::{Behaviour, Farm, Proxy, Scripted, Volunteer, Workdir, find_in_path, refused_port, require_farm};
use crate::trial::{Trial, require_namespace};

/// A clang-22 for a daemon that is a script around the real one.
fn compilers(script: &str) -> Workdir {
    let folder = Workdir::new();
    let clang = find_in_path("clang-22").expect("clang-22 is installed");
    folder.write_executable("clang-22", &format!("#!/bin/sh\nclang={}\n{script}\n", clang.display()));
    folder
}

#[test]
fn nobody_there() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let down = format!("127.0.0.1:{}", refused_port());
    let linked = trial.link(&format!("{down} no-such-host.invalid"), &[], &[]);
    trial.expect_all_local(&linked);
    trial.expect_failed(&linked, &down, "Connection refused");
    trial.expect_failed(&linked, "no-such-host.invalid:3632", "the name cannot be resolved");
}

#[test]
fn a_daemon_that_does_not_let_us_in() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let volunteer = Volunteer::setup().allow("192.0.2.0/24").start();
    let linked = trial.link(&volunteer.host(), &[], &[]);
    trial.expect_all_local(&linked);
    trial.expect_failed(&linked, &volunteer.name(), "does not accept this client (--allow)");
}

#[test]
fn a_daemon_that_may_not_run_our_compiler() {
    if !require_farm() || !require_namespace() {
        return;
    }
    let trial = Trial::new();
    let volunteer = Volunteer::setup().accept("gcc").start();
    let linked = trial.link(&volunteer.host(), &[], &[]);
    trial.expect_all_local(&linked);
    trial.expect_failed(&linked, &volunteer.name(), "does not allow the compiler");
}

#[test]
fn a_daemon_without_our_compiler() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let volunteer = Volunteer::start();
    let linked = trial.link(&volunteer.host(), &["--remote-compiler=clang-99"], &[]);
    trial.expect_all_local(&linked);
    trial.expect_failed(&linked, &volunteer.name(), "does not allow the compiler");
}

#[test]
fn a_compiler_of_another_version() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let scripts = [
        r#"case "$*" in *--version*) echo clang version 22.1.7; exit;; esac; exec "$clang" "$@""#,
        r#""$clang" "$@"; case "$*" in *--version*) echo Configuration file: /etc/clang/clang.cfg;; esac"#,
    ];
    for script in scripts {
        let compilers = compilers(script);
        let volunteer = Volunteer::setup().compilers(compilers.path()).start();
        let linked = trial.link(&volunteer.host(), &[], &[]);
        trial.expect_all_local(&linked);
        trial.expect_failed(&linked, &volunteer.name(), "another compiler: ");
        assert_eq!(linked.total("remote"), 0);
    }
}

#[test]
fn a_compiler_of_the_same_version_that_makes_other_code() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let compiles = [
        r#""$clang" "$@" -O0"#,
        r#""$clang" "$@" -mcmodel=large"#,
        r#""$clang" "$@" -fno-function-sections"#,
        r#""$clang" "$@" -mllvm -align-all-functions=6"#,
        r##"CCC_OVERRIDE_OPTIONS='# +-O0' "$clang" "$@""##,
    ];
    for compile in compiles {
        let script = format!(r#"case "$*" in *--version*) exec "$clang" "$@";; esac; {compile}"#);
        let compilers = compilers(&script);
        let volunteer = Volunteer::setup().compilers(compilers.path()).start();
        let linked = trial.link(&volunteer.host(), &[], &[]);
        trial.expect_all_local(&linked);
        trial.expect_failed(&linked, &volunteer.name(), "its object differs from the one made here");
    }
}

#[test]
fn a_compiler_with_a_configuration_file_of_its_own() {
    if !require_farm() || !require_namespace() {
        return;
    }
    let trial = Trial::new();
    let files = [
        ("clang.cfg", "-mcmodel=large\n"),
        ("clang.cfg", "-O0\n"),
        // It need not change the code of any job here.
        ("x86_64-pc-linux-gnu-clang.cfg", "-fno-unroll-loops\n-mllvm -inline-threshold=0\n"),
    ];
    for (name, text) in files {
        let config = trial.configuration(name, text);
        let volunteer = Volunteer::setup().clang_config(&config).start();
        let linked = trial.link(&volunteer.host(), &[], &[]);
        trial.expect_all_local(&linked);
        trial.expect_failed(&linked, &volunteer.name(), "another compiler: clang-22 differs in \"Configuration file: ");
    }
}

#[test]
fn a_host_that_wants_authentication_or_is_marked_as_down_is_never_contacted() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let peers = [Scripted::always(Behaviour::Close), Scripted::always(Behaviour::Close)];
    let hosts = format!("{}/4,auth {}/4,down", peers[0].name(), peers[1].name());
    // The list holds commas, at which clang would split it.
    let linked = trial.link("", &[], &[("DISTCC_HOSTS", &hosts)]);
    assert_eq!(peers.each_ref().map(Scripted::accepted), [0, 0]);
    trial.expect_all_local(&linked);
    assert!(trial.reasons(&linked, &peers[0].name()).contains("authentication"), "{}", linked.report());
    assert!(trial.reasons(&linked, &peers[1].name()).contains("down"), "{}", linked.report());
}

#[test]
fn one_good_host_among_many_bad_ones_does_all_the_work() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let peers = [
        Scripted::always(Behaviour::Close),
        Scripted::always(Behaviour::Silent),
        Scripted::always(Behaviour::Answer(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())),
        Scripted::always(Behaviour::Answer(b"DONE00000002STAT00000000".to_vec())),
        Scripted::always(Behaviour::AnswerAndHold(b"DONE00000001STAT00000000SERRffffffff".to_vec())),
    ];
    let wrong = Proxy::object(|_| Vec::new());
    let denying = Volunteer::setup().allow("192.0.2.0/24").start();
    let good = Farm::start(1);
    let names: Vec<String> = peers.iter().map(Scripted::name).chain([wrong.name(), denying.name()]).collect();
    let hosts = format!("{} 127.0.0.1:{} no-such-host.invalid {}", names.join(" "), refused_port(), good.hosts());
    // They fail before they get a job, so nothing has to fall back.
    let linked = trial.link(&hosts, &["--fallback=off"], &[]);
    assert_eq!(linked.total("remote"), linked.total("jobs"), "{}", linked.report());
    assert_eq!(trial.jobs_of(&linked, &good.volunteers[0].name()), linked.total("jobs"));
}
