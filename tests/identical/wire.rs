//! What a volunteer gets to see, and what it keeps.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use thinbridge_protocol::lzo;

use super::harness::{expect_all_remote, expect_small_c};
use crate::support::{Link, Program, Proxy, Request, Volunteer, require, require_farm, skip};

/// Far more than any file of these tests.
const CAP: usize = 16 << 20;

fn jobs(proxy: &Proxy) -> Vec<Request> {
    proxy.take_requests().into_iter().filter(Request::is_job).collect()
}

/// Client paths stand in the bitcode itself (the source's name), and nowhere else.
#[test]
fn no_path_of_the_client() {
    if !require_farm() || !require(&["llvm-dis-22"]) {
        return;
    }
    let program = Program::small_c(&["-O2"])
        .archive("secret.a", &["add.o"], false)
        .spelled(|folder, input| if input == "twice.o" { folder.join(input) } else { input.into() });
    let proxy = Proxy::recorder();
    let linked = Link::of(&program).hosts(proxy.host()).remote_only().run().expect_success();
    expect_small_c(&linked);
    expect_all_remote(&linked);

    let folder = program.folder.path().to_str().expect("UTF-8");
    let secrets = [folder, "thinbridge-client", "twice.o", "add.o", "main.o", "secret.a", "report.json", "native.o"];
    let jobs = jobs(&proxy);
    assert_eq!(jobs.len(), 4);
    for job in &jobs {
        for (name, body) in job.names.iter().zip(&job.bodies) {
            let body = lzo::decompress(body, CAP).expect("it is LZO");
            if is_bitcode_module(name) {
                assert!(body.starts_with(b"BC"), "{name} is no bitcode");
                continue;
            }
            expect_none(&body, &secrets, name);
            expect_none(&readable(&body), &secrets, name);
        }
        expect_none(&without_bodies(job), &secrets, "the request");
    }
}

/// Whether this name in the job's folder is a module's: those are numbers, in front of a suffix perhaps.
fn is_bitcode_module(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    name.starts_with(|first: char| first.is_ascii_digit() || first == 'm')
}

/// The summary index as text: its names may be packed in six bits each.
fn readable(shard: &[u8]) -> Vec<u8> {
    let mut reader =
        Command::new("llvm-dis-22").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    // Far smaller than a pipe, so that writing it all first cannot block.
    reader.stdin.take().expect("a pipe").write_all(shard).expect("it reads");
    let output = reader.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stdout.starts_with(b"; ModuleID"), "it is no summary index");
    output.stdout
}

/// The request, with nothing in the place of the files' contents.
fn without_bodies(request: &Request) -> Vec<u8> {
    let mut bytes = request.bytes.clone();
    for body in &request.bodies {
        let at = bytes.windows(body.len()).position(|window| window == body).expect("the body is in the request");
        bytes.drain(at..at + body.len());
    }
    bytes
}

#[track_caller]
fn expect_none(bytes: &[u8], secrets: &[&str], place: &str) {
    for secret in secrets {
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{place} says {secret:?}: {}", String::from_utf8_lossy(bytes));
    }
}

/// What the reference says that stock hosts take: protocol 3 whatever the host list says, the compiler's bare name, the
/// module as a source, and its real flags, so that the volunteer's log shows them.
#[test]
fn the_command_line() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"]);
    let proxy = Proxy::recorder();
    let host = format!("{},lzo", proxy.host());
    Link::of(&program).hosts(host).remote_only().run().expect_success();
    let jobs = jobs(&proxy);
    assert_eq!(jobs.len(), 4);
    for job in jobs {
        assert_eq!(job.version, 3);
        let arguments: Vec<&str> = job.arguments.iter().map(String::as_str).collect();
        let (compiler, rest) = arguments.split_first().expect("a compiler");
        assert_eq!(*compiler, "clang-22");
        let ["-c", module, "-o", object] = rest[rest.len() - 4..] else { panic!("it ends otherwise: {rest:?}") };
        assert!(module.ends_with(".c") && !module.contains('/'), "{module}");
        assert!(!object.contains('/'), "{object}");
        for flag in ["-O2", "--language=ir", "-fno-crash-diagnostics"] {
            assert!(rest.contains(&flag), "{flag} is missing: {rest:?}");
        }
        let index = rest.iter().find_map(|argument| argument.strip_prefix("-fthinlto-index=")).expect("an index");
        let folder = Path::new(job.names.first().expect("files")).parent().expect("a folder");
        for name in [module, index] {
            assert!(job.names.iter().any(|path| Path::new(path) == folder.join(name)), "{name}: {:?}", job.names);
        }
        assert!(job.names.iter().all(|name| Path::new(name).is_absolute() && name.len() <= 16), "{:?}", job.names);
    }
}

#[test]
fn nothing_stays_on_a_volunteer() {
    if !require_farm() {
        return;
    }
    let volunteer = Volunteer::start();
    if !volunteer.isolated() {
        skip("no mount namespace may be made here");
        return;
    }
    let program = Program::small_cpp(&["-O2", "-g"]);
    let linked = Link::of(&program).hosts(volunteer.host()).remote_only().run().expect_success();
    expect_all_remote(&linked);
    // The daemon answers before it cleans up, and says nothing of that.
    let cleaned = (0..600).any(|_| {
        let empty = volunteer.temporary_files().is_empty();
        if !empty {
            std::thread::sleep(Duration::from_millis(50));
        }
        empty
    });
    assert!(cleaned, "left behind: {:?}", volunteer.temporary_files());
}
