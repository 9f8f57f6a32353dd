//! The environment of the real compiler, as a compile server uses it: as the root.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::laid_out::{SHARED, bundle, feed, field, unpack};
use crate::support::{THINBRIDGE, Workdir, clang, require, run, skip};

/// Most bytes that a compile server keeps unpacked, of all environments together, unless it is told otherwise.
const SERVER_LIMIT: u64 = 256_000_000;

/// What `thinbridge environment` prints for the default compiler. The environment is kept for the next run.
fn packed() -> String {
    run(Command::new(THINBRIDGE).arg("environment").env("XDG_CACHE_HOME", SHARED))
}

fn archive(printed: &str) -> PathBuf {
    field(printed, "path").into()
}

#[test]
fn it_holds_what_the_compiler_needs_and_no_dead_weight() {
    if !require(&["clang-22"]) {
        return;
    }
    let packed = packed();
    println!("{packed}");
    let unpacked = zstd::Decoder::new(fs::File::open(archive(&packed)).unwrap()).unwrap();
    let mut archive = tar::Archive::new(unpacked);
    let mut sizes = BTreeMap::new();
    let mut paths = Vec::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        let path = entry.path().unwrap().display().to_string();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 0), "{path}");
        assert!(!path.starts_with('/') && !path.contains(".."), "{path}");
        match header.entry_type() {
            tar::EntryType::Directory => {}
            tar::EntryType::Symlink => assert!(entry.link_name().unwrap().unwrap().is_relative(), "{path}"),
            tar::EntryType::Regular => _ = sizes.insert(path.clone(), header.size().unwrap()),
            other => panic!("{path} is {other:?}"),
        }
        paths.push(path);
    }
    for needed in ["usr/bin/clang", "usr/bin/as", "bin/true", "tmp/", "thinbridge.manifest"] {
        assert!(paths.iter().any(|path| path == needed), "no {needed} in {paths:?}");
    }
    let total: u64 = sizes.values().sum();
    assert_eq!(field(&packed, "unpacked"), format!("{total} bytes"));
    assert!(total < SERVER_LIMIT, "{total} bytes");
    // ICU is only there for libxml2, and the solver only for the analyzer.
    assert!(!paths.iter().any(|path| path.contains("libicu")), "{paths:?}");
    let solver = sizes.iter().find(|(path, _)| path.contains("libz3.so"));
    assert!(solver.is_none_or(|(_, size)| *size < 100_000), "{solver:?}");
}

#[test]
fn the_same_compiler_gives_the_same_bytes() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let again = run(Command::new(THINBRIDGE).arg("environment").env("XDG_CACHE_HOME", folder.path()));
    let packed = packed();
    assert_eq!(field(&again, "name"), field(&packed, "name"));
    assert!(fs::read(archive(&again)).unwrap() == fs::read(archive(&packed)).unwrap());
}

#[test]
fn a_backend_job_in_it_gives_the_same_bytes_as_here() {
    if !require(&["clang-22", "ld.lld-22", "chroot"]) {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        skip("only root can change the root");
        return;
    }
    let folder = Workdir::new();
    let root = folder.join("root");
    unpack(&archive(&packed()), &root);
    run(Command::new("chroot").arg(&root).arg("/bin/true").stdin(Stdio::null()));

    folder.write("main.c", "int twice(int); int main(void) { return twice(21); }\n");
    folder.write("twice.c", "static int helper(int x) { return x + x; }\nint twice(int x) { return helper(x); }\n");
    for name in ["main", "twice"] {
        clang(folder.path(), &["-O2", "-g", "-flto=thin", "-c", &format!("{name}.c"), "-o", &format!("{name}.o")]);
    }
    let index = ["-flto=thin", "-fuse-ld=lld", "-Wl,--thinlto-index-only", "main.o", "twice.o", "-o", "program"];
    clang(folder.path(), &index);
    let job = ["-c", "-O2", "-x", "ir", "main.o", "-fthinlto-index=main.o.thinlto.bc"];
    clang(folder.path(), &[&job[..], &["-o", "expected.o"]].concat());

    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let names = ["main.o", "twice.o", "main.o.thinlto.bc"];
    let contents = names.map(read);
    let files: Vec<(&str, &[u8])> = names.into_iter().zip(contents.iter().map(Vec::as_slice)).collect();
    fs::write(root.join("tmp/icecc-1_2.o"), "").unwrap();
    let mut command = Command::new("chroot");
    command.arg(&root).args(["/usr/bin/clang", "-x", "c", "-c", "-", "-o", "/tmp/icecc-1_2.o"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (status, stdout, stderr) = feed(command.spawn().unwrap(), bundle(&job, &files));
    assert!(status.success(), "{stderr}");
    assert_eq!((&*stdout, &*stderr), ("", ""));
    assert!(fs::read(root.join("tmp/icecc-1_2.o")).unwrap() == read("expected.o"));
    assert_eq!(fs::read_dir(root.join("tmp")).unwrap().count(), 1);

    // An error of the job's own: the compiler's words and status.
    let wrong = bundle(&[&job[..], &["-fno-such-option"]].concat(), &files);
    let (status, _, stderr) = feed(command.spawn().unwrap(), wrong);
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("unknown argument: '-fno-such-option'"), "{stderr}");
}
