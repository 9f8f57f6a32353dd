//! Hosts that go away in the middle of a link, and hosts that come back.

use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex};

use crate::bench::{Bench, Phase};
use crate::support::{Behaviour, Linked, Scripted, Volunteer, Workdir, find_in_path, require_farm};
use crate::trial::{Trial, require_namespace};

/// A clang-22 that stops itself before every job but the first, the canary: the test knows where it stands.
fn stopping_compiler() -> Workdir {
    let folder = Workdir::new();
    let clang = find_in_path("clang-22").expect("clang-22 is installed");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--version*) ;; *) mkdir /tmp/canary 2>/dev/null || kill -STOP $$;; esac\n\
         exec {} \"$@\"\n",
        clang.display()
    );
    folder.write_executable("clang-22", &script);
    folder
}

/// A link that has come to where both slots of the volunteer hold a stopped compiler.
struct Midway {
    trial: Trial,
    volunteer: Volunteer,
    link: Child,
}

impl Midway {
    fn reach(options: &[&str], environment: &[(&str, &str)]) -> Self {
        let trial = Trial::new();
        let compilers = stopping_compiler();
        let volunteer = Volunteer::setup().compilers(compilers.path()).start();
        let mut command = trial.prepare(&volunteer.host(), options, environment).command();
        let link = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("clang-22 starts");
        volunteer.wait_for_stopped(2);
        Self { trial, volunteer, link }
    }

    /// Waits for the link, which has to end well.
    #[track_caller]
    fn end(self) -> (Trial, Volunteer, Linked) {
        let output = self.link.wait_with_output().expect("the link ends");
        let linked = self.trial.expect_right(self.trial.ended(output));
        (self.trial, self.volunteer, linked)
    }
}

#[test]
fn a_daemon_that_is_killed_costs_only_the_jobs_it_had() {
    if !require_farm() || !require_namespace() {
        return;
    }
    let midway = Midway::reach(&[], &[]);
    midway.volunteer.kill();
    let (trial, volunteer, linked) = midway.end();
    trial.expect_failed(&linked, &volunteer.name(), "the connection was");
    assert_eq!(trial.jobs_of(&linked, &volunteer.name()), 1, "the canary: {:#}", linked.report());
}

#[test]
fn a_daemon_that_is_killed_and_restarted_serves_the_next_link() {
    if !require_farm() || !require_namespace() {
        return;
    }
    let midway = Midway::reach(&[], &[]);
    midway.volunteer.kill();
    let again = Volunteer::setup().start_on(midway.volunteer.port());
    let (trial, _, _) = midway.end();
    let linked = trial.link(&again.host(), &["--fallback=off"], &[]);
    assert_eq!(linked.total("remote"), linked.total("jobs"));
}

#[test]
fn a_daemon_that_is_stopped_delays_its_jobs_by_one_deadline() {
    if !require_farm() || !require_namespace() {
        return;
    }
    let midway = Midway::reach(&[], &[("DISTCC_IO_TIMEOUT", "1")]);
    midway.volunteer.suspend();
    let (trial, volunteer, linked) = midway.end();
    trial.expect_failed(&linked, &volunteer.name(), "no answer within 1.0 s");
    assert_eq!(trial.jobs_of(&linked, &volunteer.name()), 1, "the canary: {:#}", linked.report());
}

#[test]
fn a_daemon_that_is_stopped_and_goes_on_in_time_does_its_jobs() {
    if !require_farm() || !require_namespace() {
        return;
    }
    let midway = Midway::reach(&["--fallback=off"], &[]);
    midway.volunteer.suspend();
    midway.volunteer.resume();
    // The last job's compiler stops itself too.
    midway.volunteer.wait_for_stopped(1);
    midway.volunteer.resume();
    let (trial, volunteer, linked) = midway.end();
    assert_eq!(trial.jobs_of(&linked, &volunteer.name()), linked.total("jobs"), "{:#}", linked.report());
}

#[test]
fn a_host_that_comes_back_is_asked_for_proof_and_gets_work_again() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    for fault in [Behaviour::Close, Behaviour::Answer(b"nonsense, not an answer".to_vec())] {
        let back: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        // Bad for one job; its next connections are a probe, the canary, and then work.
        let weak = Scripted::start({
            let (good, back) = (bench.good_answer(), Arc::clone(&back));
            move |number, request| {
                if number == 2 && (matches!(fault, Behaviour::Close) || request.is_some()) {
                    return Some(fault.clone());
                }
                let answer = good(request?);
                if number >= 5 {
                    *back.0.lock().expect("no holder panics") = true;
                    back.1.notify_all();
                }
                Some(Behaviour::Answer(answer))
            }
        });
        // Holds its first job until the other host has work again.
        let steady = Scripted::start({
            let good = bench.good_answer();
            move |number, request| {
                let answer = good(request?);
                if number >= 2 {
                    let guard = back.0.lock().expect("no holder panics");
                    drop(back.1.wait_while(guard, |back| !*back).expect("no holder panics"));
                }
                Some(Behaviour::Answer(answer))
            }
        });
        let ran = bench.run(8, &format!("{}/1 {}/1", weak.name(), steady.name()), &["--fallback=off"]);
        ran.expect_right(&bench).expect_failed(&weak.name(), Phase::Work, "");
        assert_eq!(ran.report["totals"]["remote"], 8, "{:#}", ran.report);
        assert!(weak.accepted() > 5, "{}", weak.accepted());
    }
}
