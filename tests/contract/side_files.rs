//! Jobs that leave more than their object run here although there are hosts, and leave it where a plain local compile
//! does.

use std::collections::BTreeSet;

use crate::gate::{Gate, kill};
use crate::jobs::{Jobs, finish, start};
use crate::support::{Language, Link, Program, ROOT, Volunteer, require_farm};

fn program(flag: &str) -> Program {
    Program::new(Language::C, &["-O2", flag])
        .module("first.c", "int second(int);\nint main(void) { return second(20) - 41; }\n")
        .module("second.c", "int second(int x) { return 2 * x + 1; }\n")
}

/// The names below the folder, process numbers in them replaced.
fn names(program: &Program) -> BTreeSet<String> {
    let files = program.folder.files().into_iter().filter(|name| !name.starts_with("home/") && name != "report.json");
    let parts = |name: String| {
        let number = |part: &str| part.len() > 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        name.split('.').map(|part| if number(part) { "PID" } else { part }).collect::<Vec<_>>().join(".")
    };
    files.map(parts).collect()
}

fn with<'p>(program: &'p Program, arguments: &[&str]) -> Link<'p> {
    let pass = |link: Link<'p>, argument: &&str| link.argument(format!("-Wl,--thinlto-remote-compiler-arg={argument}"));
    arguments.iter().fold(Link::of(program), pass)
}

/// Links through a plain distributor and through thinbridge with a host.
#[track_caller]
fn stay_here(host: &Volunteer, flag: &str, arguments: &[&str], made: &str) {
    let (plain, ours) = (program(flag), program(flag));
    with(&plain, arguments).distributor(format!("{ROOT}/integration/local-distributor")).run().expect_success();
    let linked = with(&ours, arguments).hosts(host.host()).run().expect_success();
    assert!(names(&plain).iter().any(|name| name.contains(made)), "{arguments:?} makes nothing: {:?}", names(&plain));
    assert_eq!(names(&ours), names(&plain), "{arguments:?}");
    assert_eq!((linked.total("local"), linked.total("fallbacks")), (2, 0));
    let lines: Vec<&str> = linked.stderr.lines().filter(|line| line.starts_with("thinbridge: ")).collect();
    assert_eq!(lines.len(), 1, "{}", linked.stderr);
    assert!(lines[0].contains("2 jobs stay on this machine") && lines[0].contains(arguments[0]), "{}", lines[0]);
}

#[test]
fn side_files_are_where_a_plain_compile_puts_them() {
    if !require_farm() {
        return;
    }
    let host = Volunteer::start();
    stay_here(&host, "-g", &["-gsplit-dwarf", "-g"], ".dwo");
    stay_here(&host, "-g0", &["-fstack-usage"], ".su");
    stay_here(&host, "-g0", &["-ftime-trace"], ".json");
    // With debug information clang 22 cannot read its own assembly here.
    stay_here(&host, "-g0", &["-save-temps=obj"], ".s");
    stay_here(&host, "-g0", &["-fsave-optimization-record"], ".opt.yaml");
    assert_eq!(host.requests(), 0, "a host was asked");
}

#[test]
fn a_job_with_two_outputs_stays_and_leaves_both() {
    let mut jobs = Jobs::of(program("-g")).argument("-gsplit-dwarf").argument("-g");
    let object = jobs.description["jobs"][0]["outputs"][0].as_str().expect("a name").to_owned();
    let second = object.strip_suffix(".o").expect("an object").to_owned() + ".dwo";
    jobs.description["jobs"][0]["outputs"].as_array_mut().expect("outputs").push(second.clone().into());
    let report = jobs.report(&["--hosts=127.0.0.1:1"]);
    assert_eq!(report["totals"]["local"], 2, "{report}");
    assert_eq!(report["totals"]["fallbacks"], 0, "{report}");
    jobs.objects();
    assert!(jobs.program.folder.join(second).exists());
}

#[test]
fn a_failed_compile_leaves_no_object_of_a_job_with_side_files() {
    let jobs = Jobs::of(program("-g")).argument("-fstack-usage");
    let failing = "#!/bin/sh\nclang-22 \"$@\" || exit\nfor word; do [ \"$word\" != second.o ] || exit 9; done\n";
    let compiler = jobs.program.folder.write_executable("compiler", failing);
    let jobs = jobs.compiler(&compiler);
    jobs.run(&["--local-slots=1"]).expect(1).says(&["second.o", "status 9"]);
    jobs.expect_no_objects();
}

#[test]
fn an_interrupted_job_with_side_files_leaves_no_object() {
    let jobs = Jobs::of(program("-g")).argument("-fstack-usage");
    let gate = Gate::new(&jobs.program.folder);
    let script = format!("#!/bin/sh\nclang-22 \"$@\" && exec '{}' \"$@\"\n", gate.compiler.display());
    let compiler = jobs.program.folder.write_executable("compiler", &script);
    let jobs = jobs.compiler(&compiler);
    let child = start(&mut jobs.command(&["--local-slots=1"]));
    let (arrivals, ..) = gate.arrivals().next();
    kill("-TERM", &child.id().to_string());
    finish(child).expect(143);
    arrivals.expect_gone();
    jobs.expect_no_objects();
}
