//! Other targets than the host's. Clang makes code for all of them; nothing here is run.

use std::process::Command;

use super::harness::{Place, same_as_plain_distributor, same_commands, same_with};
use crate::support::{Language, Program, Workdir, clang, require, require_farm};

/// Three modules that need no system headers and import from each other.
const MODULES: [(&str, &str); 3] = [
    ("a.c", "int add(int, int); static int s; int twice(int x) { s += x; return add(x, x) + s; }\n"),
    (
        "b.c",
        "int hundred(void), twice(int); int add(int a, int b) { return a + b + hundred(); }\n\
             int more(int x) { return twice(x) * 2; }\n",
    ),
    (
        "c.c",
        "int more(int); int hundred(void) { return 100; } int table[4] = {1, 2, 3, 4};\n\
             int pick(int i) { return table[i & 3] + more(i); }\n",
    ),
];

fn library(target: &str) -> Program {
    let program = Program::new(Language::C, &[target, "-O2", "-fPIC"]);
    MODULES.iter().fold(program, |program, (name, text)| program.module(name, text))
}

/// Of 32 and 64 bits, both byte orders, with relocations of each form.
#[test]
fn other_machines() {
    if require_farm() {
        for target in ["aarch64-linux-gnu", "i386-linux-gnu", "s390x-linux-gnu", "mips64-linux-gnu"] {
            let program = library(&format!("--target={target}"));
            same_with(&program, |link| link.argument("-shared").argument("-nostdlib"));
        }
    }
}

/// The linker passes no ABI on for these, so that clang's default differs from what it does itself.
#[test]
fn machines_with_more_than_one_abi() {
    if require_farm() && require(&["python3"]) {
        for target in ["riscv64-linux-gnu", "armv7-linux-gnueabihf"] {
            let program = library(&format!("--target={target}"));
            same_as_plain_distributor(&program, |link| link.argument("-shared").argument("-nostdlib"));
        }
    }
}

#[test]
fn windows() {
    if !require_farm() || !require(&["lld-link-22", "python3"]) {
        return;
    }
    let folder = Workdir::new();
    let entry = ("m.c", "int pick(int); int _fltused; __declspec(dllexport) int entry(void) { return pick(3); }\n");
    let mut objects = Vec::new();
    for (name, text) in MODULES.into_iter().chain([entry]) {
        folder.write(name, text);
        objects.push(format!("{name}.obj"));
        let object = format!("{name}.obj");
        clang(folder.path(), &["--target=x86_64-pc-windows-msvc", "-flto=thin", "-O2", "-c", name, "-o", &object]);
    }
    let [in_process, remote] = same_commands(&folder, "p.exe", |place| {
        let mut link = Command::new("lld-link-22");
        link.args(["-nologo", "-entry:entry", "-subsystem:console", "-nodefaultlib", "-Brepro", "-lldsavetemps"]);
        link.arg(format!("-out:{}/p.exe", place.name()));
        if place != Place::InProcess {
            link.arg("-thinlto-remote-compiler:/usr/lib/llvm-22/bin/clang");
            link.arg(format!("-thinlto-distributor:{}", place.distributor().display()));
            link.args(place.options().iter().map(|option| format!("-thinlto-distributor-arg:{option}")));
        }
        link.args(&objects);
        link
    });
    remote.expect_same_bytes(&in_process);
}
