//! Our scheduler's and compile server's ends against the stock client and its local daemon.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use bytes::Bytes;
use thinbridge_protocol::icecream::{CompileFile, CompileResult, GetCs, Language, Message, Text, Version};

use crate::daemon::{Daemon, Folder, in_own_network};
use crate::peer::Peer;
use crate::scheduler::{Host, Scheduler};

/// Where our compile server listens: not 127.0.0.1, which means to a client that it is to compile itself.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

const SOURCE: &str = "#warning words of the compiler\n#define ANSWER 42\nint answer(void) { return ANSWER; }\n";

/// An environment, as far as the client knows: it asks for a file of some hundred bytes.
const ARCHIVE: [u8; 1000] = [b'x'; 1000];

/// What a compile server saw.
struct Served {
    environment: Bytes,
    request: CompileFile,
    source: Bytes,
    version: Version,
}

/// Serves one job that comes with its environment; its files are below `folder`.
fn serve(listener: &TcpListener, own: Version, folder: &Path) -> Served {
    let (stream, _) = listener.accept().unwrap();
    let mut client = Peer::greet(stream, own).unwrap();
    let mut environment = Bytes::new();
    loop {
        match client.expect() {
            Message::TransferEnv { .. } => environment = client.receive_file(),
            Message::VerifyEnv { .. } => client.send(&Message::VerifyEnvResult { ok: true }),
            Message::CompileFile(request) => {
                let source = client.receive_file();
                answer(&client, compile(&request, &source, folder));
                return Served { environment, request, source, version: client.version() };
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Does what a stock server would do, without an environment.
fn compile(request: &CompileFile, source: &[u8], folder: &Path) -> (Output, Vec<u8>) {
    fs::write(folder.join("source"), source).unwrap();
    let mut compiler = Command::new("gcc");
    compiler.args(["-x", "c"]).args(request.flags.iter().map(ToString::to_string));
    compiler.args(["-fpreprocessed", "source", "-o", "made-by-us.o"]).current_dir(folder);
    let output = compiler.output().unwrap();
    (output, fs::read(folder.join("made-by-us.o")).unwrap_or_default())
}

fn answer(client: &Peer, (output, object): (Output, Vec<u8>)) {
    client.send(&Message::CompileResult(CompileResult {
        stderr: Text::new(output.stderr),
        stdout: Text::new(output.stdout),
        status: output.status.code().unwrap(),
        out_of_memory: false,
        has_dwo: false,
    }));
    if output.status.success() {
        client.send_file(&object);
    }
}

/// Compiles `a.c` to `a.o` by the stock client.
fn icecc(folder: &Folder, daemon: &Daemon) -> Output {
    let mut client = Command::new("icecc");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ICECC")) {
        client.env_remove(name);
    }
    client.args(["gcc", "-c", "-O2", "a.c", "-o", "a.o"]).current_dir(folder.path());
    client.env("ICECC_TEST_SOCKET", &daemon.socket).env("ICECC_VERSION", folder.path().join("env1.tar.gz"));
    client.env("ICECC_REMOTE_CPP", "0").env("ICECC_DEBUG", "debug").env("ICECC_LOGFILE", folder.path().join("log"));
    client.output().unwrap()
}

/// Compilations by the stock client through our scheduler, at compile servers of ours of one version after the other.
fn compile_by_stock_client(scheduler: Version, servers: RangeInclusive<u32>) {
    let folder = Folder::new(&format!("client-{scheduler}"));
    folder.write("a.c", SOURCE);
    folder.write("env1.tar.gz", ARCHIVE);
    let local = Command::new("gcc").args(["-c", "-O2", "a.c", "-o", "b.o"]).current_dir(folder.path()).status();
    assert!(local.unwrap().success());

    let listener = TcpListener::bind((ELSEWHERE, 0)).unwrap();
    let host = Host { address: (ELSEWHERE, listener.local_addr().unwrap().port()), has_environment: false };
    let cluster = Scheduler::start(scheduler, host);
    // The port on which a daemon that takes no jobs does not listen.
    let daemon = Daemon::start(cluster.address, 10245, &folder, &["--no-remote"]);
    daemon.program.await_line("Connected to scheduler");
    for number in servers {
        let server = Version::from_number(number).unwrap();
        let (listener, place) = (listener.try_clone().unwrap(), folder.path().to_owned());
        let serving = thread::spawn(move || serve(&listener, server, &place));
        let output = icecc(&folder, &daemon);
        let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        assert!(output.status.success() && !log.contains("building_local"), "{output:?}\n{log}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("words of the compiler"), "{output:?}");
        let served = serving.join().unwrap();
        let object = |name| fs::read(folder.path().join(name)).unwrap();
        assert!(object("a.o") == object("b.o"), "scheduler {scheduler}, server {server}");
        assert_as_expected(&served, server, &cluster);
    }
}

fn assert_as_expected(served: &Served, server: Version, cluster: &Scheduler) {
    assert_eq!(served.version, server.min(Version::OURS));
    assert_eq!(served.environment, ARCHIVE.as_slice());
    assert!(String::from_utf8_lossy(&served.source).contains("int answer(void) { return 42; }"));
    assert_eq!((served.request.language, &served.request.compiler), (Language::C, &Text::from("gcc")));
    let request: GetCs = cluster.await_message(|message| match message {
        Message::GetCs(request) => Some(request),
        _ => None,
    });
    assert_eq!(request.environments[0].name, served.request.environment);
    assert_eq!((request.language, request.count), (Language::C, 1));
}

#[test]
fn the_stock_client_is_served_by_us_in_every_version() {
    if !in_own_network("client::the_stock_client_is_served_by_us_in_every_version", &["iceccd", "icecc", "gcc"]) {
        return;
    }
    thread::scope(|scope| {
        for (scheduler, servers) in [(30, 30..=34), (37, 35..=39), (44, 40..=44)] {
            let scheduler = Version::from_number(scheduler).unwrap();
            scope.spawn(move || compile_by_stock_client(scheduler, servers));
        }
    });
}
