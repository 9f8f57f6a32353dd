//! `thinbridge environment`: what it prints, and what it says where it cannot.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::laid_out::{field, stand_in};
use crate::support::{THINBRIDGE, Workdir, require, run};

fn environment(folder: &Workdir, arguments: &[&str]) -> Output {
    let mut command = Command::new(THINBRIDGE);
    command.arg("environment").args(arguments).env("XDG_CACHE_HOME", folder.join("cache"));
    command.current_dir(folder.path()).output().expect("thinbridge starts")
}

fn refusal(folder: &Workdir, arguments: &[&str], status: i32) -> String {
    let output = environment(folder, arguments);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

#[test]
fn it_prints_path_name_and_sizes_and_copies() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    stand_in(&folder, "my compiler");
    let output = environment(&folder, &["--compiler", "./my compiler"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    let archive = field(&text, "path");
    assert!(Path::new(&archive).starts_with(folder.join("cache/thinbridge/environments")));
    assert_eq!(field(&text, "packed"), format!("{} bytes", fs::metadata(&archive).unwrap().len()));
    let name = field(&text, "name");
    assert!(name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'), "{name}");

    let output = environment(&folder, &["--output=copy", "--compiler=./my compiler"]);
    let copied = String::from_utf8(output.stdout).unwrap();
    assert_eq!((&*field(&copied, "path"), field(&copied, "name")), ("copy", name));
    assert_eq!(fs::read(folder.join("copy")).unwrap(), fs::read(&archive).unwrap());
    // Nothing half-written beside it.
    let names: Vec<String> = folder.files().into_iter().filter(|name| name.starts_with("copy")).collect();
    assert_eq!(names, ["copy"]);
    let refused = refusal(&folder, &["--compiler=./my compiler", "--output=no/such/folder"], 1);
    assert!(refused.contains("cannot write no/such/folder: No such file or directory"), "{refused}");
}

#[test]
fn what_cannot_be_packed_is_named_with_the_mend() {
    let folder = Workdir::new();
    folder.write_executable("script", "#!/bin/sh\nexec clang\n");
    folder.write_executable("text", "not a program\n");
    folder.write_executable("ccache", "");
    let mut foreign = fs::read("/proc/self/exe").unwrap();
    foreign[18..20].copy_from_slice(&[0x15, 0xef]);
    folder.write("foreign", &foreign[..]);
    folder.write("cut", &fs::read("/proc/self/exe").unwrap()[..70]);
    for name in ["foreign", "cut"] {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir(folder.join("folder")).unwrap();
    for (compiler, expected) in [
        ("./script", "is a script, which hosts cannot run; name the compiler that it starts"),
        ("./text", "is not an ELF program; name the compiler's program"),
        ("./folder", "is not a file; name the compiler's program"),
        ("./ccache", "starts other compilers and is none itself; name the compiler that it starts"),
        ("./foreign", "is a program for another machine; name a compiler that runs on this one"),
        ("./cut", "is damaged"),
        ("./missing", "there is no compiler './missing'; name one that exists"),
        ("no-such-compiler", "there is no compiler 'no-such-compiler'"),
    ] {
        let refused = refusal(&folder, &["--compiler", compiler], 1);
        assert!(refused.contains(expected), "{compiler}: {refused}");
    }
    refusal(&folder, &["--compiler"], 2);
    refusal(&folder, &["stray"], 2);
}

#[test]
fn a_missing_library_is_named() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    folder.write("part.c", "int part(void) { return 0; }\n");
    folder.write("main.c", "int part(void); int main(void) { return part(); }\n");
    let clang = |arguments: &[&str]| run(Command::new("clang-22").current_dir(folder.path()).args(arguments));
    clang(&["-shared", "-fPIC", "-Wl,-soname,libpart.so.7", "part.c", "-o", "libpart.so"]);
    clang(&["main.c", "libpart.so", "-o", "compiler"]);
    let refused = refusal(&folder, &["--compiler", "./compiler"], 1);
    assert!(refused.contains("needs the shared library libpart.so.7, which is not found; install it"), "{refused}");
}

#[test]
fn a_compiler_that_cannot_tell_its_version_is_refused() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    folder.write("main.c", "#include <stdio.h>\nint main(void) { fputs(\"no licence\\n\", stderr); return 3; }\n");
    run(Command::new("clang-22").current_dir(folder.path()).args(["main.c", "-o", "compiler"]));
    let refused = refusal(&folder, &["--compiler", "./compiler"], 1);
    assert!(refused.contains("/compiler --version' failed (exit status: 3) no licence; does it run"), "{refused}");
}
