//! Our client's end against a stock iceccd of its own machine, which logs in at a scheduler of ours.

use std::net::Ipv4Addr;

use thinbridge_protocol::icecream::{
    BlacklistHostEnv, CompileFile, EnvironmentId, GetCs, JobDone, JobLocalBegin, Language, Message, Sender, Subject,
    Text, Version,
};

use crate::daemon::{Daemon, Folder, in_own_network};
use crate::peer::Peer;
use crate::scheduler::{Host, Scheduler};

const PLATFORM: &str = std::env::consts::ARCH;

/// A request, as it is in `version`.
fn request(version: Version) -> GetCs {
    let since = |first, value| if version.number() >= first { value } else { 0 };
    GetCs {
        environments: vec![EnvironmentId { platform: Text::from(PLATFORM), name: Text::from("e1") }],
        file_name: Text::from("a/b/c.o"),
        language: Language::Cxx,
        count: 1,
        target: Text::from(PLATFORM),
        arg_flags: 9,
        client_id: 0,
        preferred_host: Text::from("build7"),
        minimal_host_version: since(31, 31),
        client_count: 0,
        required_features: since(42, 2),
        niceness: since(43, 7),
    }
}

/// Asks for a host, is told to compile itself, and says that it has.
fn compile_here(peer: &mut Peer, scheduler: &Scheduler) {
    let asked = request(peer.version());
    peer.send(&Message::GetCs(asked.clone()));
    let heard = scheduler.await_message(|message| match message {
        Message::GetCs(request) => Some(request),
        _ => None,
    });
    assert!(heard.client_id > 0 && heard.client_count > 0);
    assert_eq!(GetCs { client_id: 0, client_count: 0, ..heard }, asked);
    let job_id = match peer.expect() {
        Message::UseCs(answer) => {
            assert_eq!(answer.host, Ipv4Addr::LOCALHOST);
            answer.job_id
        }
        other => panic!("{other:?}"),
    };
    peer.send(&Message::CompileFile(CompileFile {
        language: Language::Cxx,
        job_id,
        flags: Vec::new(),
        environment: Text::from("__client"),
        target: Text::from(PLATFORM),
        compiler: Text::from("clang"),
        input_file: Text::default(),
        working_directory: Text::default(),
        output_file: Text::from("c.o"),
        split_dwarf: false,
    }));
    let mut done = JobDone::new(Subject::Job(job_id), Sender::Submitter, 0);
    (done.user_ms, done.out_uncompressed) = (1234, 5678);
    peer.send(&Message::JobDone(done));
    let heard = scheduler.await_message(|message| match message {
        Message::JobDone(done) => Some(done),
        _ => None,
    });
    assert_eq!(JobDone { client_count: 0, ..heard }, done);
    peer.send(&Message::End);
}

/// Holds a slot until the connection ends.
fn hold_a_slot(mut peer: Peer, scheduler: &Scheduler) {
    let output_file = Text::from("local.o");
    let begin = JobLocalBegin { started: 1_700_000_000, output_file: output_file.clone(), id: 0, full_job: false };
    peer.send(&Message::JobLocalBegin(begin));
    assert!(matches!(peer.expect(), Message::JobLocalBegin(_)));
    let begun = scheduler.await_message(|message| match message {
        Message::JobLocalBegin(begin) => Some(begin),
        _ => None,
    });
    assert_eq!(begun.output_file, output_file);
    drop(peer);
    scheduler.await_message(|message| (message == Message::JobLocalDone { id: begun.id }).then_some(()));
}

#[test]
fn a_stock_local_daemon_knows_our_words_in_every_version() {
    if !in_own_network("local::a_stock_local_daemon_knows_our_words_in_every_version", &["iceccd"]) {
        return;
    }
    let folder = Folder::new("local");
    let here = Host { address: (Ipv4Addr::LOCALHOST, 10245), has_environment: true };
    let scheduler = Scheduler::start(Version::NEWEST, here);
    let daemon = Daemon::start(scheduler.address, 10245, &folder, &[]);
    daemon.program.await_line("Connected to scheduler");
    for version in (30..=44).map(|number| Version::from_number(number).unwrap()) {
        compile_here(&mut Peer::connect(daemon.address, version), &scheduler);
        hold_a_slot(Peer::connect(daemon.address, version), &scheduler);
        if version.number() >= 31 {
            let [name, target, host] = ["e1", PLATFORM, "10.0.0.7"].map(Text::from);
            let bad = Message::BlacklistHostEnv(BlacklistHostEnv { name, target, host });
            Peer::connect(daemon.address, version).send(&bad);
            scheduler.await_message(|message| (message == bad).then_some(()));
        }
    }
}
