//! Rust with C in one link, as `-Clinker-plugin-lto` makes it: each codegen unit is a module, and those of a library come
//! out of its rlib.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::{Place, same_commands};
use crate::support::{Workdir, clang, require, require_farm, run, skip};

const LIBRARY: &str = "pub fn sum(numbers: &[i32]) -> i32 { numbers.iter().map(|number| twice(*number)).sum() }\n\
     fn twice(number: i32) -> i32 { unsafe { c_add(number, number) } }\n\
     unsafe extern \"C\" { fn c_add(a: i32, b: i32) -> i32; }\n";

const MAIN: &str = "use std::collections::BTreeMap;\n\
     #[unsafe(no_mangle)] pub extern \"C\" fn rust_hundred() -> i32 { 100 }\n\
     unsafe extern \"C\" { fn c_more(a: i32) -> i32; }\n\
     fn main() {\n\
         let words: BTreeMap<String, i32> = [\"a\", \"b\"].iter().zip(1..).map(|(word, n)| (word.to_string(), n)).collect();\n\
         let caught = std::panic::catch_unwind(|| { if words.len() == 2 { panic!() } }).is_err();\n\
         println!(\"{} {} {caught}\", shapes::sum(&[1, 2, 3]), unsafe { c_more(words[\"b\"]) });\n\
     }\n";

const C: &str = "int rust_hundred(void);\n\
     int c_add(int a, int b) { return a + b; }\n\
     int c_more(int a) { return c_add(a, rust_hundred()); }\n";

fn require_rust() -> bool {
    require_farm() && require(&["rustc", "python3"])
}

/// Links the program with this linker; `None` is clang's own, `ld.lld-22`.
fn link(linker: Option<&Path>) {
    let folder = Workdir::new();
    folder.write("shapes.rs", LIBRARY);
    folder.write("main.rs", MAIN);
    folder.write("c.c", C);
    clang(folder.path(), &["-flto=thin", "-O2", "-fPIC", "-c", "c.c"]);
    let rustc = |arguments: &[&str]| {
        let mut rustc = Command::new("rustc");
        rustc.current_dir(folder.path()).args(["--edition=2024", "-O", "-Clinker-plugin-lto", "-Ccodegen-units=2"]);
        rustc.args(arguments);
        rustc
    };
    run(&mut rustc(&["--crate-type=rlib", "shapes.rs"]));
    let [_, remote] = same_commands(&folder, "program", |place| {
        let mut rustc = rustc(&["main.rs", "--extern=shapes", "-L.", "-Clink-arg=c.o", "-Clinker=clang-22"]);
        rustc.arg(format!("-o{}/program", place.name()));
        match linker {
            Some(linker) => rustc.arg(format!("-Clink-arg=--ld-path={}", linker.display())),
            None => rustc.arg("-Clink-arg=-fuse-ld=lld"),
        };
        if place != Place::InProcess {
            let to_linker = |option: String| ["-Clink-arg=-Xlinker".to_owned(), format!("-Clink-arg={option}")];
            rustc.arg("-Clink-arg=-Wl,--save-temps");
            rustc.args(to_linker(format!("--thinlto-distributor={}", place.distributor().display())));
            rustc.args(to_linker("--thinlto-remote-compiler=/usr/lib/llvm-22/bin/clang".to_owned()));
            for option in place.options() {
                rustc.args(to_linker(format!("--thinlto-distributor-arg={option}")));
            }
        }
        // rustup's own home must be found although the test gives its commands another one.
        rustc.envs(rust_homes());
        rustc
    });
    assert_eq!(remote.output(), "12 102 true\n");
    assert!(remote.total("jobs") >= 4, "the library's modules are jobs too: {}", remote.report());
}

/// Where rustup and its toolchains are, if they are below the user's home.
fn rust_homes() -> impl Iterator<Item = (&'static str, PathBuf)> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")].into_iter().filter_map(move |(name, folder)| {
        let usual = home.as_ref().map(|home| home.join(folder)).filter(|folder| folder.is_dir());
        Some((name, std::env::var_os(name).map(PathBuf::from).or(usual)?))
    })
}

#[test]
fn with_the_installed_linker() {
    if require_rust() {
        link(None);
    }
}

#[test]
fn with_the_linker_of_the_rust_toolchain() {
    if !require_rust() {
        return;
    }
    let sysroot = PathBuf::from(run(Command::new("rustc").args(["--print", "sysroot"])).trim_end());
    let linker = sysroot.join("lib/rustlib/x86_64-unknown-linux-gnu/bin/gcc-ld/ld.lld");
    if linker.is_file() {
        link(Some(&linker));
    } else {
        skip("this Rust toolchain brings no rust-lld");
    }
}
