//! Our client's end against a stock distccd.

use std::fs;
use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use thinbridge_protocol::distcc::{
    Compressed, Content, Ending, File, Input, Request, Response, ServerFailure, Version, WaitStatus,
};

use crate::daemon::{Daemon, Folder, allowed_compiler};

const SOURCE: &str = "#include \"answer.h\"\nint answer(void) { return ANSWER; }\n";
const HEADER: &str = "#define ANSWER 42\n";

fn argv(words: &[&str]) -> Vec<Bytes> {
    words.iter().map(|word| Bytes::copy_from_slice(word.as_bytes())).collect()
}

fn file(name: &'static str, plain: &str) -> File {
    File { name: Bytes::from_static(name.as_bytes()), content: Content::Body(Compressed::new(plain.as_bytes())) }
}

fn v1(words: &[&str]) -> Request {
    Request { argv: argv(words), input: Input::V1(Bytes::new()) }
}

fn complete(ending: Ending) -> Response {
    match ending {
        Ending::Complete(response) => response,
        other => panic!("{other:?}"),
    }
}

fn local(folder: &Path, compiler: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(compiler).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn objects_of_every_version_are_those_of_a_local_compile() {
    let (Some(compiler), Some(daemon)) = (allowed_compiler(), Daemon::start(&[])) else { return };
    let folder = Folder::new("objects");
    folder.write("a.c", SOURCE);
    folder.write("answer.h", HEADER);
    let words = [compiler, "-O2", "-c", "a.c", "-o", "a.o"];
    local(folder.path(), compiler, &words[1..]);
    let expected = fs::read(folder.path().join("a.o")).unwrap();
    let source = Bytes::from(local(folder.path(), compiler, &["-E", "a.c"]));
    let files = vec![
        file("/w/a.c", SOURCE),
        file("/w/include/answer.h", HEADER),
        File { name: Bytes::from_static(b"/w/answer.h"), content: Content::Link("include/answer.h".into()) },
    ];
    let inputs = [
        Input::V0(source.clone()),
        Input::V1(source.clone()),
        Input::V2(Compressed::new(&source)),
        Input::V3 { cwd: Bytes::from_static(b"/w"), files },
    ];
    for input in inputs {
        let request = Request { argv: argv(&words), input };
        let version = request.version();
        let response = complete(daemon.run(&request));
        assert_eq!((response.version, response.status), (version, WaitStatus::SUCCESS));
        assert_eq!((&response.stderr[..], &response.stdout[..]), (&b""[..], &b""[..]));
        assert!(response.object.unwrap() == expected, "the object of version {version} differs");
        let rule = response.deps.map(|deps| String::from_utf8(deps.into()).unwrap());
        assert_eq!(rule.is_some(), version == Version::V3);
        assert!(rule.is_none_or(|rule| rule.starts_with("a.o: a.c") && rule.contains("answer.h")));
    }
}

#[test]
fn a_probe_returns_the_compilers_version_without_a_compile() {
    let (Some(compiler), Some(daemon)) = (allowed_compiler(), Daemon::start(&[])) else { return };
    let response = complete(daemon.run(&v1(&[compiler, "--version", "-c", "p.i", "-o", "p.o"])));
    let expected = local(Path::new("/"), compiler, &["--version"]);
    assert_eq!(response.status, WaitStatus::SUCCESS);
    assert_eq!(String::from_utf8_lossy(&response.stdout), String::from_utf8_lossy(&expected));
    assert_eq!(response.object, Some(Bytes::new()));
}

#[test]
fn a_failed_compile_returns_status_and_words_but_no_object() {
    let (Some(compiler), Some(daemon)) = (allowed_compiler(), Daemon::start(&[])) else { return };
    let files = vec![file("/w/a.c", "int x = y;\n")];
    let input = Input::V3 { cwd: Bytes::from_static(b"/w"), files };
    let response = complete(daemon.run(&Request { argv: argv(&[compiler, "-c", "a.c", "-o", "a.o"]), input }));
    assert_eq!(response.status, WaitStatus::exited(1));
    assert!(String::from_utf8_lossy(&response.stderr).contains("error: "), "{response:?}");
    assert_eq!((response.object, response.deps), (Some(Bytes::new()), None));
}

#[test]
fn refusals_are_silent() {
    let (Some(compiler), Some(daemon)) = (allowed_compiler(), Daemon::start(&[])) else { return };
    let refused = [
        v1(&[compiler, "-c", "-x", "ir", "a.c", "-o", "a.o"]),
        v1(&[compiler, "a.c"]),
        v1(&["/opt/bin/cc", "-c", "a.c"]),
        v1(&["no-such-compiler", "-c", "a.c"]),
        v1(&[compiler, "-c", "a.c", "-fplugin=x.so"]),
        Request {
            argv: argv(&[compiler, "-c", "a.c"]),
            input: Input::V2(Compressed::from_wire(Bytes::from_static(b"no LZO at all"))),
        },
    ];
    for request in refused {
        assert_eq!(daemon.run(&request), Ending::Silent, "{request:?}");
    }
    assert_eq!(daemon.run_raw(b"DIST00000004"), b"");
}

#[test]
fn compilers_that_end_in_odd_ways_are_told_apart() {
    let run = |script: &str, version: Version| {
        let folder = Folder::new(&format!("odd-{version}"));
        let allowed = folder.program("cc", script);
        let daemon = Daemon::start(&[("DISTCC_CMDLIST", allowed.as_os_str())])?;
        let input = match version {
            Version::V3 => Input::V3 { cwd: Bytes::new(), files: vec![] },
            _ => Input::V2(Compressed::default()),
        };
        Some(daemon.run(&Request { argv: argv(&["cc", "-c", "a.c", "-o", "a.o"]), input }))
    };
    let remove_output = "while [ \"$1\" != -o ]; do shift; done; rm \"$2\"; echo gone";
    for version in [Version::V2, Version::V3] {
        let Some(ending) = run(remove_output, version) else { return };
        let response = complete(ending);
        assert_eq!((response.status, &response.stdout[..]), (WaitStatus::SUCCESS, &b"gone\n"[..]));
        assert_eq!((response.object, response.deps), (None, None));
        let response = complete(run("exit 0", version).unwrap());
        assert_eq!((response.status.raw(), response.object, response.deps), (0, Some(Bytes::new()), None));
        let response = complete(run("kill -SEGV $$", version).unwrap());
        assert_eq!((response.status.signal(), response.object), (Some(11), Some(Bytes::new())));
        let response = complete(run("yes warning | head -c 3000000 >&2; exit 77", version).unwrap());
        assert_eq!((response.status, response.stderr.len()), (WaitStatus::exited(77), 3_000_000));
    }
}

#[test]
fn a_compiler_that_cannot_be_run_is_reported_as_distccds_own_failure() {
    let folder = Folder::new("missing");
    // The last part of the path must not be a program here: the server looks for that too.
    let allowed = folder.write("allowed", "/no/such/no-such-cc\n");
    let Some(daemon) = Daemon::start(&[("DISTCC_CMDLIST", allowed.as_os_str())]) else { return };
    let response = complete(daemon.run(&v1(&["no-such-cc", "-c", "a.c", "-o", "a.o"])));
    assert_eq!(response.status.server_failure(), Some(ServerFailure::CompilerMissing), "{}", response.status);
}
