//! The report: its shape, its sums, and where it goes.

use std::fs;

use serde_json::Value;

use crate::jobs::{Jobs, run};
use crate::support::{Link, Program, Volunteer, refused_port, require, require_farm};

/// Panics unless every promised field is there with its type, and the sums are the jobs'.
#[track_caller]
fn check(report: &Value) {
    let fields = |value: &Value, names: &[&str]| {
        let object = value.as_object().expect("an object");
        for name in names {
            assert!(object.contains_key(*name), "{name} is missing in {value}");
        }
    };
    let count = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} is no count"));
    let time = |value: &Value| assert!(value.as_f64().is_some_and(|time| time >= 0.0), "{value} is no time");
    assert_eq!(report["schema"], "thinbridge-report/1");
    let totals = &report["totals"];
    let sums = ["jobs", "remote", "local", "fallbacks", "bytes_sent", "bytes_received"];
    for name in sums {
        count(&totals[name]);
    }
    time(&totals["seconds"]);
    time(&totals["client_cpu_seconds"]);

    let jobs = report["jobs"].as_array().expect("jobs");
    let hosts = report["hosts"].as_array().expect("hosts");
    assert_eq!(count(&totals["jobs"]), jobs.len() as u64);
    for job in jobs {
        fields(job, &["module", "output", "place", "host", "attempts", "bytes_sent", "bytes_received", "seconds"]);
        assert!(job["module"].is_string() && job["output"].is_string(), "{job}");
        match job["place"].as_str() {
            Some("remote") => {
                let last = job["attempts"].as_array().expect("attempts").iter().rfind(|a| a["outcome"] == "ok");
                assert_eq!(last.expect("one succeeded")["host"], job["host"]);
                assert!(hosts.iter().any(|host| host["host"] == job["host"]), "{job}");
            }
            Some("local") => assert!(job["host"].is_null(), "{job}"),
            _ => assert!(job["place"].is_null() && job["host"].is_null(), "{job}"),
        }
        for attempt in job["attempts"].as_array().expect("attempts") {
            fields(attempt, &["host", "outcome", "reason"]);
            let outcome = attempt["outcome"].as_str().expect("an outcome");
            assert!(["ok", "failed", "cancelled", "refused"].contains(&outcome), "{attempt}");
            assert_eq!(attempt["reason"].is_string(), outcome != "ok", "{attempt}");
        }
        ["queued", "sending", "waiting", "receiving"].iter().for_each(|phase| time(&job["seconds"][phase]));
        count(&job["bytes_sent"]);
        count(&job["bytes_received"]);
    }
    let at = |place: &str| jobs.iter().filter(|job| job["place"] == place).count() as u64;
    assert_eq!((count(&totals["remote"]), count(&totals["local"])), (at("remote"), at("local")));
    let of_hosts = |name: &str| hosts.iter().map(|host| count(&host[name])).sum::<u64>();
    assert_eq!(of_hosts("jobs"), count(&totals["remote"]));
    for host in hosts {
        fields(host, &["host", "jobs", "failures", "reasons"]);
        assert!(host["reasons"].as_array().expect("reasons").iter().all(Value::is_string), "{host}");
        assert!(count(&host["failures"]) == 0 || host["reasons"] != Value::Array(Vec::new()), "{host}");
    }
    // Probes are no jobs, but their bytes are bytes.
    let moved = |name: &str| jobs.iter().map(|job| count(&job[name])).sum::<u64>();
    assert!(count(&totals["bytes_sent"]) >= moved("bytes_sent"), "{report}");
    assert!(count(&totals["bytes_received"]) >= moved("bytes_received"), "{report}");
}

#[test]
fn a_remote_link_a_local_one_and_one_that_fell_back() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let host = Volunteer::start();
    let dead = format!("127.0.0.1:{}", refused_port());

    let remote = Link::of(&program).hosts(format!("{} {dead} far,auth", host.host())).remote_only().run();
    let remote = remote.expect_success();
    check(remote.report());
    assert_eq!((remote.total("remote"), remote.total("fallbacks")), (4, 0));
    assert_eq!(crate::hosts::names(remote.report()), [host.name(), dead.clone(), "far:3632".to_owned()]);
    let jobs = remote.report()["jobs"].as_array().expect("jobs");
    let modules: Vec<&str> = jobs.iter().map(|job| job["module"].as_str().expect("a name")).collect();
    assert_eq!(modules, program.inputs, "in the linker's order, named as on the link line");
    assert!(jobs.iter().all(|job| job["bytes_sent"].as_u64() > Some(0) && job["bytes_received"].as_u64() > Some(0)));
    let reason = |host: usize| remote.report()["hosts"][host]["reasons"][0].as_str().expect("a reason").to_owned();
    assert!(reason(1).contains("refused"), "{}", reason(1));
    assert!(reason(2).contains("auth"), "{}", reason(2));

    let local = Link::of(&program).run().expect_success();
    check(local.report());
    assert_eq!((local.total("local"), local.total("fallbacks"), local.total("bytes_sent")), (4, 0, 0));
    assert_eq!(local.report()["hosts"], Value::Array(Vec::new()));

    let fallen = Link::of(&program).hosts(&dead).option("--local-slots=0").run().expect_success();
    check(fallen.report());
    assert_eq!((fallen.total("local"), fallen.total("fallbacks")), (4, 4));
}

#[test]
fn a_failed_link_has_a_report_too() {
    let jobs = Jobs::two().output(1, "nowhere/second.o");
    let report = jobs.report(&["--local-slots=1"]);
    check(&report);
    let failed = Jobs::two().argument("-mno-such-option");
    let report = failed.report(&[]);
    check(&report);
    assert_eq!(report["totals"]["local"], 0);
    let dead = Jobs::two().report(&["--hosts=127.0.0.1:1", "--fallback=off", "--local-slots=0"]);
    check(&dead);
}

#[test]
fn an_interrupted_link_has_a_report_too() {
    let jobs = Jobs::two();
    let gate = crate::gate::Gate::new(&jobs.program.folder);
    let jobs = jobs.compiler(&gate.compiler);
    let child = crate::jobs::start(&mut jobs.command(&["--report=report.json"]));
    let (arrivals, ..) = gate.arrivals().next();
    crate::gate::kill("-TERM", &child.id().to_string());
    crate::jobs::finish(child).expect(143);
    arrivals.expect_gone();
    let report = fs::read(jobs.program.folder.join("report.json")).expect("a report");
    check(&serde_json::from_slice(&report).expect("JSON"));
}

#[test]
fn a_link_in_its_place_is_followed() {
    let jobs = Jobs::two();
    let folder = &jobs.program.folder;
    std::os::unix::fs::symlink("true.json", folder.join("latest.json")).expect("a new name");
    jobs.run(&["--report=latest.json"]).expect(0);
    assert!(fs::symlink_metadata(folder.join("latest.json")).expect("it is there").is_symlink());
    check(&serde_json::from_slice(&fs::read(folder.join("true.json")).expect("a report")).expect("JSON"));
}

#[test]
fn its_name_may_hold_the_output_and_the_process_or_be_a_folder() {
    let mut jobs = Jobs::two();
    jobs.description["common"]["linker_output"] = "../bin/my program.so".into();
    let folder = &jobs.program.folder;
    fs::create_dir(folder.join("reports")).expect("created");
    let run_with = |option: &str| {
        let child = crate::jobs::start(&mut jobs.command(&[option]));
        let process = child.id();
        crate::jobs::finish(child).expect(0).silent();
        process
    };
    let written =
        |name: String| check(&serde_json::from_slice(&fs::read(folder.join(&name)).expect(&name)).expect("JSON"));
    let process = run_with("--report={output}-{pid}.json");
    written(format!("my program.so-{process}.json"));
    let first = run_with("--report=reports");
    let second = run_with("--report=reports/");
    written(format!("reports/my program.so.{first}.json"));
    written(format!("reports/my program.so.{second}.json"));
}

#[test]
fn two_links_of_one_build_do_not_overwrite_each_other() {
    if !require(&["clang-22", "ld.lld-22"]) {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let link = |output: &str| {
        let link = Link::of(&program).without_report().env("THINBRIDGE_REPORT", program.folder.join("{output}.json"));
        link.output(output).run().expect_success();
    };
    link("one");
    link("two");
    for name in ["one.json", "two.json"] {
        check(&serde_json::from_slice(&fs::read(program.folder.join(name)).expect(name)).expect("JSON"));
    }
}

#[test]
fn a_report_that_cannot_be_written_costs_a_line_but_not_the_link() {
    let jobs = Jobs::two();
    let ended = jobs.run(&["--report=/nowhere/report.json"]).expect(0).says(&["/nowhere/report.json", "No such file"]);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    jobs.objects();
}

#[test]
fn a_report_replaces_an_older_one_whole() {
    let jobs = Jobs::two();
    jobs.program.folder.write("report.json", vec![b'x'; 1 << 20]);
    run(&mut jobs.command(&["--report=report.json"])).expect(0).silent();
    let text = fs::read_to_string(jobs.program.folder.join("report.json")).expect("text");
    check(&serde_json::from_str(&text).expect("JSON"));
}
