//! Builds the entry program of the icecream environments, which becomes a part of the library: one file to install, and
//! both ends of a job always of one version.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What the entry program is made of. Cargo looks at the rest by itself.
const SOURCES: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "integration/entry",
    "protocol/Cargo.toml",
    "protocol/src/bundle",
    "protocol/src/bundle.rs",
    "protocol/src/lib.rs",
    "protocol/src/manifest.rs",
];

/// What this build tells its scripts, and the one below must not hear: it is another package, built with other flags.
const REMOVED: &[&str] = &["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    SOURCES.iter().for_each(|source| println!("cargo::rerun-if-changed={source}"));
    match entry() {
        Ok(program) => {
            println!("cargo::rustc-env=THINBRIDGE_ENTRY={}", program.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            error.lines().for_each(|line| println!("cargo::error={line}"));
            ExitCode::FAILURE
        }
    }
}

/// Builds the program in a folder of its own, as this build holds the lock of the usual one.
fn entry() -> Result<PathBuf, String> {
    let source = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let target = variable("TARGET")?;
    let folder = Path::new(&variable("OUT_DIR")?).join("entry");
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.args(["build", "--quiet", "--profile", "entry", "--package", "thinbridge-entry"]);
    // With a target named, the flags are not for build scripts and macros, which cannot be static.
    cargo.arg("--target").arg(&target).arg("--target-dir").arg(&folder).current_dir(&source);
    REMOVED.iter().for_each(|name| _ = cargo.env_remove(name));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(&source)?).env("CARGO_BUILD_BUILD_DIR", &folder);
    let ended = cargo.output().map_err(|error| format!("cannot start cargo for the entry program: {error}"))?;
    if !ended.status.success() {
        return Err(explain(&String::from_utf8_lossy(&ended.stderr)));
    }
    Ok(folder.join(target).join("entry/thinbridge-entry"))
}

fn variable(name: &str) -> Result<String, String> {
    let value = env::var_os(name).ok_or_else(|| format!("cargo has not set {name}"))?;
    value.into_string().map_err(|value| format!("{name} is not UTF-8: {}", value.display()))
}

/// Static, and the same bytes wherever it is built: the name of an environment is a digest of what is in it.
fn flags(source: &Path) -> Result<OsString, String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo"))).ok_or("CARGO_HOME is not known")?;
    let remap = |from: &Path, to: &str| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from);
        flag.push("=");
        flag.push(to);
        flag
    };
    let flags = [
        "-Ctarget-feature=+crt-static".into(),
        "-Clink-arg=-Wl,--build-id=none".into(),
        remap(source, "/thinbridge"),
        remap(&home, "/cargo"),
    ];
    Ok(flags.join(std::ffi::OsStr::new("\u{1f}")))
}

fn explain(said: &str) -> String {
    let mend = if said.contains("cannot find -l") || said.contains("unable to find library -l") {
        "; it needs the static C library: install libc6-dev (Debian, Ubuntu), glibc-static (Fedora, openSUSE) or build \
         for a musl target"
    } else {
        ""
    };
    format!("the entry program of the icecream environments cannot be built{mend}\n{said}")
}
