//! The entry program of an icecream environment: what a compile server starts where it believes to start a compiler.
//!
//! It is one program of three names. As `usr/bin/clang` it does a job: it reads a bundle from standard input, lays it
//! out in a folder of its own, runs the real compiler there and hands over the object. As `bin/true` it tests the
//! environment. `usr/bin/as` only has to exist.
//!
//! It runs in a chroot without `/proc` and `/dev`, as the user of the compile server, and trusts neither the bundle nor
//! the environment.
#![deny(unsafe_code)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod compiler;
mod environment;
mod failure;
mod folder;
mod job;
mod layout;
mod object;
mod spawn;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let own = PathBuf::from(arguments.next().unwrap_or_default());
    let arguments: Vec<OsString> = arguments.collect();
    match own.file_name().and_then(|name| name.to_str()) {
        Some("as") => ExitCode::SUCCESS,
        Some("true") => environment::test(&root(&own, "bin/true")),
        _ => job::run(&root(&own, "usr/bin/clang"), &arguments),
    }
}

/// The root of the environment: `/` in the chroot, and elsewhere whatever the program's own path says.
fn root(own: &Path, place: &str) -> PathBuf {
    match own.to_str().and_then(|own| own.strip_suffix(place)) {
        Some("") => PathBuf::from("."),
        Some(root) => PathBuf::from(root),
        None => PathBuf::from("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_where_the_program_lies_in_the_environment() {
        assert_eq!(root(Path::new("/usr/bin/clang"), "usr/bin/clang"), Path::new("/"));
        assert_eq!(root(Path::new("bin/true"), "bin/true"), Path::new("."));
        assert_eq!(root(Path::new("/tmp/e/usr/bin/clang"), "usr/bin/clang"), Path::new("/tmp/e"));
        assert_eq!(root(Path::new("clang"), "usr/bin/clang"), Path::new("/"));
    }
}
