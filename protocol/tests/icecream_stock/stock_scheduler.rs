//! Our daemon's end against a stock scheduler: a host that takes no jobs until it is told to, and submitters of every
//! version.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use thinbridge_protocol::icecream::discovery::{self, Reply};
use thinbridge_protocol::icecream::{
    EnvironmentId, GetCs, JobDone, Language, Login, Message, Sender, Stats, Subject, Text, UseCs, Version,
};

use crate::daemon::{Program, in_own_network};
use crate::peer::{PATIENCE, Peer};

const SCHEDULER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), discovery::PORT);
/// As long as the oldest replies have room for.
const NETNAME: &str = "net-of-a-tests";

/// How often a datagram wakes the scheduler, which accepts connections seconds late when nothing else happens.
const NUDGE: Duration = Duration::from_millis(1100);

fn ask(version: Version) -> Reply {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.send_to(&discovery::request(version), SCHEDULER).unwrap();
    let mut datagram = [0; discovery::REPLY_LEN + 1];
    let length = socket.recv(&mut datagram).unwrap();
    discovery::parse_reply(&datagram[..length], version).unwrap()
}

/// Connects and logs in.
fn log_in(own: Version, login: Login) -> Peer {
    let (greeted, wait) = channel::<()>();
    let nudging = thread::spawn(move || {
        while wait.recv_timeout(NUDGE) == Err(RecvTimeoutError::Timeout) {
            ask(Version::OURS);
        }
    });
    let mut peer = Peer::greet(TcpStream::connect(SCHEDULER).unwrap(), own).unwrap();
    drop(greeted);
    nudging.join().unwrap();
    peer.send(&Message::Login(login));
    match peer.expect() {
        Message::ConfCs(conf) => assert_eq!((conf.pong_seconds, conf.ping_seconds), (3, 36)),
        other => panic!("{other:?}"),
    }
    peer
}

fn submitter(version: Version) -> Login {
    Login {
        port: 0,
        max_jobs: 0,
        environments: Vec::new(),
        node_name: Text::from(format!("submitter-{version}")),
        platform: Text::from("x86_64"),
        can_chroot: false,
        no_remote: true,
        features: 0,
    }
}

fn environment(platform: &str) -> EnvironmentId {
    EnvironmentId { platform: Text::from(platform), name: Text::from("e1") }
}

fn request(client_id: u32, platform: &str) -> Message {
    Message::GetCs(GetCs {
        environments: vec![environment(platform)],
        file_name: Text::from("a.o"),
        language: Language::C,
        count: 1,
        target: Text::from(platform),
        arg_flags: 0,
        client_id,
        preferred_host: Text::default(),
        minimal_host_version: 31,
        client_count: 1,
        required_features: 0,
        niceness: 5,
    })
}

fn over(subject: Subject) -> Message {
    Message::JobDone(JobDone::new(subject, Sender::Submitter, 107))
}

fn use_cs(message: Message) -> UseCs {
    match message {
        Message::UseCs(answer) => answer,
        other => panic!("{other:?}"),
    }
}

fn set_load(host: &Peer, load: u32) {
    host.send(&Message::Stats(Stats { load, averages: [0; 3], free_memory: 8000 }));
}

/// What a submitter of `version` has to do with a scheduler.
fn submit(version: Version, scheduler: &Program, host: &Peer, port: u16) {
    let peer = &mut log_in(version, submitter(version));
    peer.send(&request(5, "sparc64"));
    let job_id = match peer.expect() {
        Message::NoCs { job_id, client_id: 5 } if version.number() >= 37 => job_id,
        // Its own address: compile it yourself.
        Message::UseCs(answer) if version.number() < 37 => answer.job_id,
        other => panic!("version {version}: {other:?}"),
    };
    peer.send(&over(Subject::Job(job_id)));
    // Two requests that wait. One of them is withdrawn before there is a host for it.
    peer.send(&request(7, "x86_64"));
    peer.send(&request(8, "x86_64"));
    peer.send(&over(Subject::Request(7)));
    scheduler.await_line("STOP (WAITFORCS)");
    set_load(host, 0);
    let answer = use_cs(peer.expect());
    assert_eq!(answer.client_id, 8, "version {version}");
    assert_eq!((answer.host, answer.port, answer.has_environment), (Ipv4Addr::LOCALHOST, port, true));
    assert_eq!(answer.host_platform, "x86_64");
    set_load(host, 1000);
    peer.send(&over(Subject::Job(answer.job_id)));
}

fn assert_reply(version: Version) {
    let reply = ask(version);
    assert!(reply.is_of(&Text::from("NET-of-a-tests")), "version {version}: {reply:?}");
    if version.number() >= 33 {
        assert!((43..50).contains(&reply.version) && reply.started > 1_600_000_000, "version {version}: {reply:?}");
    }
}

#[test]
fn a_stock_scheduler_knows_our_words_in_every_version() {
    let name = "stock_scheduler::a_stock_scheduler_knows_our_words_in_every_version";
    if !in_own_network(name, &["icecc-scheduler"]) {
        return;
    }
    let mut scheduler = Command::new("timeout");
    scheduler.args(["600", "icecc-scheduler", "-vvv", "-n", NETNAME]);
    let scheduler = Program::start(scheduler);
    scheduler.await_line("scheduler ready");
    // The scheduler looks whether somebody listens there.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut login = submitter(Version::OURS);
    (login.port, login.max_jobs, login.no_remote, login.can_chroot) = (port, 1, false, true);
    (login.node_name, login.environments) = (Text::from("host"), vec![environment("x86_64")]);
    let host = log_in(Version::OURS, login);
    for version in (30..=44).map(|number| Version::from_number(number).unwrap()) {
        assert_reply(version);
        submit(version, &scheduler, &host, port);
    }
}
