//! What the tests of the built program share: real `distccd` volunteers, a real icecream cluster, scripted peers, small
//! programs to link, and the link itself through `clang-22` and `ld.lld-22`.
//!
//! Every volunteer runs in a mount namespace of its own in which the client's files do not exist. On one machine, a path
//! that was not carried over would otherwise open the client's own file and hide the fault.
#![allow(dead_code, unused_imports)] // each test program uses its own part of it

mod cluster;
mod compare;
mod daemon;
mod fake_cluster;
mod icecream;
mod link;
mod program;
mod proxy;
mod scripted;
mod volunteer;
mod wire;
mod workdir;

pub(crate) use cluster::{CLIENT, Cluster, Host, LOCAL_NAME, LOCAL_SOCKET, Listed, Node, SCHEDULER, require_cluster};
pub(crate) use compare::{expect_all_local, expect_all_remote, expect_same_objects};
pub(crate) use fake_cluster::{FakeCluster, FakeHost, Manner, result};
pub(crate) use icecream::Icecream;
pub(crate) use link::{Link, Linked, isolate};
pub(crate) use program::{Language, Program, SMALL_C, SMALL_C_OUTPUT};
pub(crate) use proxy::Proxy;
pub(crate) use scripted::{Behaviour, Scripted, end, refused_port, wait_for_client};
pub(crate) use volunteer::{Farm, Volunteer, fake_ssh};
pub(crate) use wire::{Reply, Request};
pub(crate) use workdir::Workdir;

use std::path::Path;
use std::process::Command;

/// The program under test.
pub(crate) const THINBRIDGE: &str = env!("CARGO_BIN_EXE_thinbridge");

/// The checkout's folder.
pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Whether these tools are installed. Where one is not, the test prints one line and returns; under CI it fails.
#[must_use]
pub(crate) fn require(tools: &[&str]) -> bool {
    match tools.iter().find(|tool| find_in_path(tool).is_none()) {
        None => true,
        Some(tool) => skip(&format!("{tool} is not installed")),
    }
}

/// What a link through scripted peers needs.
#[must_use]
pub(crate) fn require_linker() -> bool {
    require(&["clang-22", "ld.lld-22"])
}

/// What a real link through a real volunteer needs.
#[must_use]
pub(crate) fn require_farm() -> bool {
    require(&["clang-22", "clang++-22", "ld.lld-22", "distccd", "unshare"])
}

/// Says why a test is skipped, and answers `false` so that `require` reads well; under CI a skipped test is a failure.
pub(crate) fn skip(why: &str) -> bool {
    assert!(std::env::var_os("CI").is_none(), "CI is set, so nothing may be skipped, but {why}");
    eprintln!("skipped: {why}");
    false
}

/// The first file of this name on PATH.
pub(crate) fn find_in_path(tool: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.is_file())
}

/// Runs clang-22 in a folder; panics with its words if it fails.
pub(crate) fn clang(folder: &Path, arguments: &[&str]) {
    run(Command::new("clang-22").current_dir(folder).args(arguments));
}

/// Runs a command that must succeed, and answers what it wrote to its standard output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} did not start: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
