//! Schedulers that answer nonsense, or nothing: the link goes on without the cluster, within a bound, and says why.

use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::Arc;

use thinbridge_protocol::icecream::{ConfCs, GetCs, JobDone, Message, Sender, Subject, UseCs, Version};

use crate::bench::{Bench, Ran};
use crate::support::{FakeCluster, FakeHost, Icecream, Scripted, end, refused_port, require_linker, wait_for_client};

/// Jobs of a link.
const JOBS: usize = 5;

/// What a scheduler does with each connection.
type Act = Arc<dyn Fn(TcpStream) + Send + Sync>;

/// One way to be bad, and what the user has to be told of it.
struct Case {
    name: &'static str,
    words: &'static str,
    act: Act,
}

fn case(name: &'static str, words: &'static str, act: impl Fn(TcpStream) + Send + Sync + 'static) -> Case {
    Case { name, words, act: Arc::new(act) }
}

/// A link through such a scheduler, in which every object is right.
#[track_caller]
fn link(bench: &Bench, act: &Act, options: &[&str]) -> (Ran, usize) {
    let scheduler = Scripted::serve({
        let act = Arc::clone(act);
        move |_, stream| act(stream)
    });
    let option = format!("--icecream={}", scheduler.name());
    let ran = bench.run(JOBS, "", &[&[option.as_str()], options].concat());
    ran.expect_right(bench);
    (ran, scheduler.accepted())
}

/// Every job runs here, and the report says why.
#[track_caller]
fn try_one(bench: &Bench, case: &Case) {
    let (ran, _) = link(bench, &case.act, &[]);
    assert_eq!(ran.report["totals"]["fallbacks"], JOBS, "{}: {:#}", case.name, ran.report);
    let told = |text: &str| assert!(text.contains(case.words), "{}: no {:?} in {text}", case.name, case.words);
    told(&ran.stderr);
    told(&ran.report["icecream"]["reasons"].to_string());
}

/// The same for many at once, each of which takes its time.
fn try_all(bench: &Bench, cases: &[Case]) {
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || try_one(bench, case));
        }
    });
}

fn write(mut stream: &TcpStream, bytes: &[u8]) {
    let _ = std::io::Write::write_all(&mut stream, bytes);
}

/// Sends these bytes in place of a greeting, and closes after an answer.
fn greeting(bytes: &'static [u8]) -> impl Fn(TcpStream) {
    move |mut stream| {
        write(&stream, bytes);
        let _ = std::io::Read::read(&mut stream, &mut [0; 8]);
        end(stream);
    }
}

/// Greets and reads the login.
fn greeted(then: impl Fn(Icecream)) -> impl Fn(TcpStream) {
    move |stream| {
        let wire = Icecream::greet(stream, Version::OURS);
        if let Some(mut wire) = wire
            && let Some(Message::Login(_)) = wire.receive()
        {
            then(wire);
        }
    }
}

fn conf() -> Message {
    Message::ConfCs(ConfCs { pong_seconds: 3, ping_seconds: 36, benchmark: "".into() })
}

/// Answers the login.
fn logged_in(then: impl Fn(Icecream)) -> impl Fn(TcpStream) {
    greeted(move |wire| {
        if wire.send(&conf()).is_some() {
            then(wire);
        }
    })
}

/// Answers each request with these messages, and goes on like that.
fn answering(answer: impl Fn(&GetCs) -> Vec<Message>) -> impl Fn(TcpStream) {
    logged_in(move |mut wire| {
        while let Some(message) = wire.receive() {
            if let Message::GetCs(request) = message
                && answer(&request).iter().try_for_each(|message| wire.send(message)).is_none()
            {
                break;
            }
        }
        wire.end();
    })
}

fn use_cs(request: &GetCs, host: Ipv4Addr, port: u16) -> UseCs {
    UseCs {
        job_id: request.client_id,
        port,
        host,
        host_platform: "x86_64".into(),
        has_environment: true,
        client_id: request.client_id,
        matched_job_id: 0,
    }
}

/// Says this after the login, and closes.
fn saying(messages: Vec<Message>, bytes: &'static [u8]) -> impl Fn(TcpStream) {
    logged_in(move |mut wire| {
        let _ = messages.iter().try_for_each(|message| wire.send(message));
        let _ = wire.send_raw(bytes);
        while wire.receive().is_some() {}
    })
}

const PROTOCOL: &str = "it does not keep to the icecream protocol";
const CLOSED: &str = "the connection was closed";

#[test]
fn nonsense_before_the_login_is_answered() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let cases = [
        case("closes at once", "in the greeting: the connection was closed", end),
        case("is a web server", PROTOCOL, greeting(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        case("is ssh", PROTOCOL, greeting(b"SSH-2.0-OpenSSH_9.2p1\r\n")),
        case("is zeros", PROTOCOL, greeting(&[0; 64])),
        case("is too old to be spoken with", "29", greeting(&[29, 0, 0, 0])),
        case("is older than anything", PROTOCOL, greeting(&[20, 0, 0, 0])),
        case("agrees on another version", PROTOCOL, greeting(&[43, 0, 0, 0, 42, 0, 0, 0])),
        case("has this machine on its block list", "block list", greeted(Icecream::end)),
        case(
            "answers the login with something else",
            "in answer to the login",
            greeted(|wire| {
                let _ = wire.send(&Message::End);
                wire.hold();
            }),
        ),
    ];
    cases.iter().for_each(|case| try_one(&bench, case));
}

#[test]
fn nonsense_after_the_login() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let done = JobDone::new(Subject::Job(1), Sender::Server, 0);
    let unasked = |request: &GetCs| {
        vec![Message::UseCs(UseCs { client_id: 999_999, ..use_cs(request, [127, 0, 0, 1].into(), 1) })]
    };
    let no_cs = |request: &GetCs| vec![Message::NoCs { job_id: 7, client_id: request.client_id + 1000 }];
    // The link looks for the scheduler again several times, and finds it as bad.
    let cases = [
        case("announces a frame over 1 MiB", PROTOCOL, saying(vec![], &[0, 16, 0, 1, 0, 0, 0, 72])),
        case("announces a frame of 4 GiB", PROTOCOL, saying(vec![], &[0xff; 64])),
        case("sends an unknown message", PROTOCOL, saying(vec![], &[0, 0, 0, 4, 0, 0, 0, 200])),
        case("sends a message of another conversation", PROTOCOL, saying(vec![Message::JobDone(done)], b"")),
        case("says good-bye", CLOSED, saying(vec![Message::End], b"")),
        case("closes", CLOSED, logged_in(Icecream::end)),
        case("answers requests that nobody made", "which was not asked", answering(unasked)),
        case("declines requests that nobody made", "which was not asked", answering(no_cs)),
    ];
    try_all(&bench, &cases);
}

#[test]
fn hosts_that_cannot_be() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let refused = refused_port();
    let hosts: [(Ipv4Addr, u16); 4] = [
        ([0, 0, 0, 0].into(), refused),
        ([255, 255, 255, 255].into(), 65535),
        ([127, 0, 0, 1].into(), refused),
        ([224, 0, 0, 1].into(), 10245),
    ];
    std::thread::scope(|scope| {
        for (host, port) in hosts {
            let bench = &bench;
            scope.spawn(move || {
                let act: Act = Arc::new(answering(move |request| vec![Message::UseCs(use_cs(request, host, port))]));
                let (ran, _) = link(bench, &act, &[]);
                assert_eq!(ran.report["totals"]["fallbacks"], JOBS, "{:#}", ran.report);
                let name = format!("{host}:{port}");
                assert!(ran.stderr.contains(&name), "{}", ran.stderr);
                let found = &ran.report["hosts"][0];
                assert!(found["host"] == name && found["failures"].as_u64() >= Some(1), "{:#}", ran.report);
            });
        }
    });
}

#[test]
fn a_scheduler_without_hosts_costs_no_time() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let nobody = case(
        "no host",
        "the cluster has no host that could take jobs of this link",
        answering(|request| vec![Message::NoCs { job_id: 1, client_id: request.client_id }]),
    );
    try_one(&bench, &nobody);
}

/// The bound of each is the 20 s that jobs wait for hosts, so they are waited for together.
#[test]
fn schedulers_that_say_nothing() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let cases = [
        case("says nothing at all", "no answer yet", wait_for_client),
        case("greets only", "after the login: nothing moved within 10.0 s", greeted(Icecream::hold)),
        case("answers no request", "gave no host in time", logged_in(|mut wire| while wire.receive().is_some() {})),
        case(
            "talks without end",
            "gave no host in time",
            logged_in(|wire| while wire.send(&Message::StatusText("well".into())).is_some() {}),
        ),
    ];
    try_all(&bench, &cases);
}

/// A stock scheduler leaves a second connection alone for as long as half a minute, unless a datagram wakes it.
#[test]
fn a_scheduler_that_has_just_accepted_somebody_else_is_woken() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let cluster = FakeCluster::start(vec![FakeHost::honest(&bench.object)]);
    // Connections are passed on to the cluster's scheduler once a datagram has come.
    let cluster_scheduler = cluster.scheduler();
    let scheduler = Scripted::serve(move |_, stream| {
        let socket = UdpSocket::bind(stream.local_addr().expect("an address")).expect("the same port");
        let mut datagram = [0; 8];
        let (length, _) = socket.recv_from(&mut datagram).expect("a datagram");
        assert_eq!(datagram[..length], [43], "one byte: our version");
        let scheduler = TcpStream::connect(cluster_scheduler).expect("the scheduler");
        let [mut one, mut other] = [&stream, &scheduler].map(|stream| stream.try_clone().expect("a descriptor"));
        std::thread::spawn(move || std::io::copy(&mut one, &mut other));
        let _ = std::io::copy(&mut &scheduler, &mut &stream);
        end(stream);
        end(scheduler);
    });
    let ran = bench.run(JOBS, "", &[&format!("--icecream={}", scheduler.name()), "--fallback=off"]);
    ran.expect_right(&bench);
    assert_eq!(ran.report["totals"]["remote"], JOBS, "{:#}", ran.report);
}

#[test]
fn links_that_may_not_fall_back_fail_with_the_cluster_s_reason() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let option = format!("--icecream=127.0.0.1:{}", refused_port());
    for (rule, status) in [("--fallback=off", 3), ("--max-fallback=0.5", 3), ("--max-fallback=1", 0)] {
        let ran = bench.run(JOBS, "", &[&option, rule]);
        assert_eq!(ran.status.code(), Some(status), "{rule}: {}", ran.stderr);
        assert!(ran.stderr.contains("no connection to 127.0.0.1:"), "{rule}: {}", ran.stderr);
        let objects = ran.objects.iter().flatten().count();
        assert_eq!(objects, if status == 0 { JOBS } else { 0 }, "{rule}");
    }
}
