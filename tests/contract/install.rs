//! `integration/install PREFIX`: what it puts there works, and wherever it is moved.

use std::fs;
use std::process::Command;

use crate::support::{Link, Program, ROOT, THINBRIDGE, Volunteer, Workdir, require_farm, run};

/// Stands for cargo, so that no release build is made: the program is built already.
const CARGO: &str = "#!/bin/sh\n\
    [ \"$1\" = build ] || exit 99\n\
    printf '{\"reason\":\"compiler-artifact\",\"executable\":\"%s\",\"fresh\":true}\\n' \"$STAND_IN\"\n";

fn install(folder: &Workdir, prefix: &str, destination: Option<&str>) {
    folder.write_executable("tools/cargo", CARGO);
    fs::create_dir_all(folder.join("target/release")).expect("created");
    fs::copy(THINBRIDGE, folder.join("target/release/thinbridge")).expect("copied");
    let path = std::env::var("PATH").expect("a PATH");
    let path = format!("{}:{path}", folder.join("tools").display());
    let mut command = Command::new(format!("{ROOT}/integration/install"));
    command
        .arg(prefix)
        .current_dir(folder.path())
        .env("PATH", path)
        .env("STAND_IN", folder.join("target/release/thinbridge"));
    match destination {
        Some(destination) => command.env("DESTDIR", folder.join(destination)),
        None => command.env_remove("DESTDIR"),
    };
    let words = run(&mut command);
    assert!(words.contains(env!("CARGO_PKG_VERSION")), "{words}");
}

#[test]
fn an_installed_program_links_and_may_be_moved() {
    if !require_farm() {
        return;
    }
    let folder = Workdir::new();
    let prefix = folder.join("a prefix");
    install(&folder, prefix.to_str().expect("UTF-8"), None);
    for document in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(prefix.join("share/doc/thinbridge").join(document).is_file(), "{document}");
    }
    let program = Program::small_c(&["-O2"]);
    let host = Volunteer::start();
    let link = |prefix: &std::path::Path| {
        let link = Link::of(&program).distributor(prefix.join("bin/thinbridge"));
        link.hosts(host.host()).remote_only().run().expect_success();
    };
    link(&prefix);
    fs::rename(&prefix, folder.join("moved")).expect("moved");
    link(&folder.join("moved"));
}

#[test]
fn a_relative_prefix_and_a_packager_s_destination() {
    let folder = Workdir::new();
    install(&folder, "here", None);
    assert!(folder.join("here/bin/thinbridge").is_file());
    install(&folder, "/usr", Some("package"));
    assert!(folder.join("package/usr/bin/thinbridge").is_file());
}

#[test]
fn without_a_prefix_it_says_how_to_use_it() {
    let output = Command::new(format!("{ROOT}/integration/install")).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("integration/install PREFIX"));
}
