//! A link through a cluster, from the client's machine.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::support::{self, Cluster, Language, Link, Linked, Program, THINBRIDGE};

/// The compiler that the linker names.
pub(crate) const COMPILER: &str = "/usr/lib/llvm-22/bin/clang";

/// Where these tests keep environments. The one that they all use is there already: making it takes some seconds, which
/// is what one test is about and no other.
pub(crate) fn cache() -> PathBuf {
    static READY: OnceLock<()> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("icecream-cache");
    READY.get_or_init(|| {
        let mut command = Command::new(THINBRIDGE);
        support::run(command.args(["environment", "--compiler", COMPILER]).env("XDG_CACHE_HOME", &folder));
    });
    folder
}

/// Two hosts and a local iceccd that takes no jobs, for tests that leave it as it was; one at a time. It ends with the
/// test's process, which holds its standard input.
pub(crate) fn shared() -> MutexGuard<'static, Cluster> {
    static SHARED: OnceLock<Mutex<Cluster>> = OnceLock::new();
    let cluster = SHARED.get_or_init(|| Mutex::new(Cluster::setup().hosts(2).local(0).start()));
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A link through this cluster (`--icecream=WAY`), beside what else it is given.
pub(crate) fn through<'p>(program: &'p Program, way: &str) -> Link<'p> {
    Link::of(program).option(format!("--icecream={way}")).env("XDG_CACHE_HOME", cache())
}

/// Runs the link on the client's machine.
pub(crate) fn run(cluster: &Cluster, link: Link) -> Linked {
    let output = cluster.inside(&link.command()).output().expect("nsenter starts");
    link.ended(output)
}

/// A program of so many modules beside the main one. Each takes a compiler some milliseconds for each of its functions.
pub(crate) fn busy_program(modules: usize, functions: usize) -> Program {
    let names: Vec<String> = (1..=modules).map(|module| format!("part{module}")).collect();
    let mut main = "#include <stdio.h>\n".to_owned();
    names.iter().for_each(|name| writeln!(main, "int {name}_0(int *, int);").expect("memory"));
    let calls: Vec<String> = names.iter().map(|name| format!("{name}_0(a, 64)")).collect();
    let sum = calls.join(" + ");
    writeln!(main, "int main(void) {{ int a[64] = {{1}}; printf(\"%d\\n\", {sum}); }}").expect("memory");
    let program = Program::new(Language::C, &["-O2"]).module("main.c", &main);
    names.iter().fold(program, |program, name| {
        let functions = (0..functions).map(|number| function(name, number));
        program.module(&format!("{name}.c"), &functions.collect::<String>())
    })
}

fn function(name: &str, number: usize) -> String {
    let (factor, shift) = (number + 3, number % 7 + 1);
    format!(
        "__attribute__((used)) int {name}_{number}(int *a, int n) {{\n\
           int s = {number};\n\
           for (int i = 0; i < n; i++) {{\n\
             a[i] += s * {factor};\n\
             for (int j = i; j < n; j++) s ^= a[j] * (i + {number}) + (s >> {shift});\n\
           }}\n\
           return s;\n\
         }}\n"
    )
}

/// The hosts that jobs were given to, and how many objects come from each.
#[track_caller]
pub(crate) fn hosts(linked: &Linked) -> Vec<(String, u64)> {
    let hosts = linked.report()["hosts"].as_array().expect("the report has hosts");
    let facts = |host: &serde_json::Value| {
        let name = host["host"].as_str().expect("a host has a name").to_owned();
        (name, host["jobs"].as_u64().expect("a host has jobs"))
    };
    hosts.iter().map(facts).collect()
}

/// The hosts that were sent the environment, each as often as it was; panics if one did not get it whole.
#[track_caller]
pub(crate) fn shipments(linked: &Linked) -> Vec<String> {
    let shipments = linked.report()["icecream"]["shipments"].as_array().expect("the report has shipments");
    let host = |shipment: &serde_json::Value| {
        assert!(shipment["reason"].is_null(), "{shipment}");
        shipment["host"].as_str().expect("a shipment has a host").to_owned()
    };
    let mut hosts: Vec<String> = shipments.iter().map(host).collect();
    hosts.sort();
    hosts
}
