//! Our client's end against a stock iceccd, which logs in at a scheduler of ours.

use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;

use bytes::Bytes;
use thinbridge_protocol::icecream::{
    CompileFile, CompileResult, Language, Message, Sender, Subject, Text, Version, features,
};

use crate::daemon::{Daemon, Folder, in_own_network, skip};
use crate::peer::Peer;
use crate::scheduler::{Host, Scheduler};

const ENVIRONMENT: &str = "from-the-test";

/// The compiler in the environment: what it writes is its input backwards, and what it says its last argument but
/// three, which is the last one that the client sent.
const COMPILER: &str = r#"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  static char input[4 << 20];
  const char *output = 0;
  size_t length = fread(input, 1, sizeof input, stdin);
  for (int i = 1; i + 1 < argc; i++)
    if (!strcmp(argv[i], "-o")) {
      output = argv[i + 1];
      fprintf(stderr, "%s\n", argv[i - 2]);
    }
  if (!output || (length && input[0] == '!'))
    return output ? 3 : 0;
  FILE *file = fopen(output, "w");
  while (length)
    fputc(input[--length], file);
  return fclose(file);
}
"#;

/// An environment with that compiler; `None`, with a word why, where it cannot be compiled.
fn environment(folder: &Folder) -> Option<Vec<u8>> {
    let source = folder.write("compiler.c", COMPILER);
    let root = folder.path().join("root");
    for place in ["usr/bin", "bin"] {
        fs::create_dir_all(root.join(place)).unwrap();
    }
    let compiled =
        Command::new("cc").args(["-static", "-O1", "-o"]).arg(root.join("usr/bin/clang")).arg(source).status();
    if !compiled.is_ok_and(|status| status.success()) {
        skip("no static program can be compiled (install gcc and libc6-dev)");
        return None;
    }
    std::os::unix::fs::symlink("clang", root.join("usr/bin/as")).unwrap();
    std::os::unix::fs::symlink("../usr/bin/clang", root.join("bin/true")).unwrap();
    let archive = Command::new("tar").arg("-C").arg(&root).args(["-c", "usr", "bin"]).output().unwrap();
    assert!(archive.status.success(), "{archive:?}");
    Some(archive.stdout)
}

fn compile(job_id: u32) -> Message {
    Message::CompileFile(CompileFile {
        language: Language::C,
        job_id,
        flags: vec![Text::from("-c"), Text::from("-last-flag")],
        environment: Text::from(ENVIRONMENT),
        target: platform(),
        compiler: Text::from("clang"),
        input_file: Text::default(),
        working_directory: Text::default(),
        output_file: Text::from("a.o"),
        split_dwarf: false,
    })
}

fn platform() -> Text {
    Text::from(std::env::consts::ARCH)
}

/// Has `source` compiled and gives the object with the result.
fn run(peer: &mut Peer, job_id: u32, source: &[u8]) -> (CompileResult, Bytes) {
    peer.send(&compile(job_id));
    peer.send_file(source);
    match peer.expect() {
        Message::CompileResult(result) if result.status == 0 => (result, peer.receive_file()),
        Message::CompileResult(result) => (result, Bytes::new()),
        other => panic!("{other:?}"),
    }
}

fn install(peer: &mut Peer, archive: &[u8]) {
    let (name, target) = (Text::from(ENVIRONMENT), platform());
    peer.send(&Message::TransferEnv { name: name.clone(), target: target.clone() });
    peer.send_file(archive);
    peer.send(&Message::VerifyEnv { name, target });
    assert_eq!(peer.expect(), Message::VerifyEnvResult { ok: true });
}

#[test]
fn a_stock_daemon_compiles_for_us_in_every_version() {
    if !in_own_network("server::a_stock_daemon_compiles_for_us_in_every_version", &["iceccd", "tar"]) {
        return;
    }
    let folder = Folder::new("server");
    let Some(archive) = environment(&folder) else { return };
    let nowhere = Host { address: (Ipv4Addr::LOCALHOST, 1), has_environment: true };
    let scheduler = Scheduler::start(Version::NEWEST, nowhere);
    let daemon = Daemon::start(scheduler.address, 10245, &folder, &[]);

    let login = scheduler.await_message(|message| match message {
        Message::Login(login) => Some(login),
        other => panic!("{other:?}"),
    });
    assert_eq!((login.port, login.max_jobs), (daemon.address.port(), 2));
    assert_eq!((login.node_name, login.platform), (Text::from("from-the-test"), platform()));
    assert!(login.can_chroot && !login.no_remote && login.environments.is_empty());
    assert_eq!(login.features, features::XZ | features::ZSTD);
    scheduler.await_message(|message| match message {
        Message::Stats(stats) => (stats.load < 1000).then_some(()),
        other => panic!("{other:?}"),
    });

    install(&mut Peer::connect(daemon.address, Version::OURS), &archive);
    let login = scheduler.await_message(|message| match message {
        Message::Login(login) => Some(login),
        _ => None,
    });
    assert_eq!(login.environments.len(), 1);
    assert_eq!((&login.environments[0].platform, &login.environments[0].name), (&platform(), &ENVIRONMENT.into()));

    let source: Vec<u8> = (0..700_000u32).map(|number| (number.wrapping_mul(number) >> 7) as u8).collect();
    let object: Vec<u8> = source.iter().rev().copied().collect();
    for number in 30..=44 {
        let mut peer = Peer::connect(daemon.address, Version::from_number(number).unwrap());
        let (result, made) = run(&mut peer, number, &source);
        assert_eq!((result.status, result.out_of_memory, result.has_dwo), (0, false, false));
        assert_eq!(result.stderr, "-last-flag\n", "version {number}");
        assert!(made == object, "version {number}");
        let done = scheduler.await_message(|message| match message {
            Message::JobDone(done) => Some(done),
            _ => None,
        });
        assert_eq!((done.subject, done.sender, done.exit_code), (Subject::Job(number), Sender::Server, 0));
        assert_eq!((done.in_uncompressed, done.out_uncompressed), (700_000, 700_000));
    }

    let (result, _) = run(&mut Peer::connect(daemon.address, Version::OURS), 99, b"!");
    assert_eq!((result.status, result.out_of_memory), (3, false));
}
