//! Compile servers that fail or lie, beside a good one: scripted, as no stock one can be made to.

use bytes::{BufMut, BytesMut};
use thinbridge_protocol::bundle::MESSAGE_PREFIX;
use thinbridge_protocol::icecream::{Algorithm, Chunk, CompileResult, Message, UseCs};

use crate::bench::{Bench, Phase, Ran, code, lie};
use crate::support::{FakeCluster, FakeHost, Icecream, Manner, end, require_linker, result, wait_for_client};

/// One way to be bad, and what the report has to say of it.
struct Case {
    name: &'static str,
    words: &'static str,
    manner: Manner,
}

fn case(name: &'static str, words: &'static str, manner: Manner) -> Case {
    Case { name, words, manner }
}

fn object(bytes: &[u8]) -> Manner {
    Manner::give(bytes)
}

fn failing(result: CompileResult) -> Manner {
    Manner::answer(move |wire| {
        let _ = wire.send(&Message::CompileResult(result.clone()));
        wire.end();
    })
}

/// Answers with these messages and bytes.
fn saying(messages: Vec<Message>, bytes: &'static [u8]) -> Manner {
    Manner::answer(move |wire| {
        let _ = messages.iter().try_for_each(|message| wire.send(message));
        let _ = wire.send_raw(bytes);
        wire.end();
    })
}

/// Sends these bytes in place of a greeting, and closes.
fn greeting(bytes: &'static [u8]) -> Manner {
    Manner::raw(move |mut stream| {
        let _ = std::io::Write::write_all(&mut stream, bytes);
        // Whoever closes with unread bytes resets the connection, and the answer is lost.
        let _ = std::io::Read::read(&mut stream, &mut [0; 8]);
        end(stream);
    })
}

/// A chunk as no codec of ours would write it.
fn chunk(uncompressed: u32, data: &[u8]) -> Vec<u8> {
    let mut frame = BytesMut::new();
    frame.put_u32(16 + data.len() as u32);
    for number in [74, uncompressed, data.len() as u32, Algorithm::Zstd as u32] {
        frame.put_u32(number);
    }
    frame.put_slice(data);
    frame.to_vec()
}

/// Gives these bytes for an object.
fn raw_object(bytes: Vec<u8>) -> Manner {
    Manner::answer(move |wire| {
        let _ = wire.send(&Message::CompileResult(result(0, "")));
        let _ = wire.send_raw(&bytes);
        let _ = wire.send(&Message::End);
        wire.end();
    })
}

/// Each host is good up to a phase and then behaves as its case says, for one job. Every one fails, in the expected
/// words, and every object is right.
#[track_caller]
fn try_all(bench: &Bench, phase: Phase, cases: &[Case]) -> Ran {
    try_beside(bench, phase, cases, Some(FakeHost::honest(&bench.object)))
}

#[track_caller]
fn try_beside(bench: &Bench, phase: Phase, cases: &[Case], honest: Option<FakeHost>) -> Ran {
    let good = object(&bench.object);
    let before = usize::from(phase == Phase::Work);
    let hosts = cases.iter().map(|case| {
        let (good, bad) = (good.clone(), case.manner.clone());
        FakeHost::new(move |connection| if connection < before { good.clone() } else { bad.clone() }).grants(before + 1)
    });
    let cluster = FakeCluster::start(hosts.chain(honest).collect());
    let ran = bench.run(4 + 2 * cases.len(), "", &[&cluster.option(), "--verify=0"]);
    ran.expect_right(bench);
    for (number, case) in cases.iter().enumerate() {
        eprintln!("{} ({phase:?}) at {}", case.name, cluster.host(number));
        ran.expect_failed(&cluster.host(number), phase, case.words);
    }
    cluster.expect_nothing_left();
    ran
}

const CLOSED: &str = "the connection was closed";
const PROTOCOL: &str = "it does not keep to the icecream protocol";

/// Those that break off or speak something else.
fn broken(bench: &Bench) -> Vec<Case> {
    let half = bench.object[..bench.object.len() / 2].to_vec();
    let use_cs = UseCs {
        job_id: 1,
        port: 1,
        host: [127, 0, 0, 1].into(),
        host_platform: "x86_64".into(),
        has_environment: true,
        client_id: 1,
        matched_job_id: 0,
    };
    let good = Message::CompileResult(result(0, ""));
    let piece = Message::FileChunk(Chunk::pack(&bench.object, Algorithm::Zstd).expect("a small object"));
    vec![
        case("closes at once", CLOSED, Manner::raw(end)),
        case("closes after the greeting", CLOSED, Manner::greeted(Icecream::end)),
        case("closes after the job", CLOSED, Manner::answer(Icecream::end)),
        case("is a web server", PROTOCOL, greeting(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        case("is zeros", PROTOCOL, greeting(&[0; 64])),
        case("is too old to be spoken with", "29", greeting(&[29, 0, 0, 0])),
        case("agrees on another version", PROTOCOL, greeting(&[43, 0, 0, 0, 42, 0, 0, 0])),
        case("announces a frame over 1 MiB", PROTOCOL, saying(vec![], &[0, 16, 0, 1, 0, 0, 0, 75])),
        case("announces a frame of 4 GiB", PROTOCOL, saying(vec![], &[0xff; 64])),
        case("announces an empty frame", PROTOCOL, saying(vec![], &[0; 8])),
        case("sends an unknown message", PROTOCOL, saying(vec![], &[0, 0, 0, 4, 0, 0, 0, 200])),
        case("sends a message of another conversation", PROTOCOL, saying(vec![Message::UseCs(use_cs)], b"")),
        case("sends a result with too little in it", PROTOCOL, saying(vec![], &[0, 0, 0, 4, 0, 0, 0, 75])),
        case("ends before a result", CLOSED, saying(vec![Message::End], b"")),
        case("gives an object before a result", PROTOCOL, saying(vec![piece.clone()], b"")),
        case("gives two results", PROTOCOL, saying(vec![good.clone(), good.clone()], b"")),
        case("closes before the object", CLOSED, saying(vec![good.clone()], b"")),
        case("closes before the object's end", CLOSED, saying(vec![good.clone(), piece], b"")),
        case("closes in the middle of a frame", CLOSED, saying(vec![good], &[0, 0, 1, 0, 0, 0, 0, 74, 0])),
        case("gives half an object", "a wrong object", object(&half)),
        case("gives an empty object", "a wrong object", object(b"")),
        case("gives a chunk that does not decompress", "does not decompress", raw_object(chunk(1000, b"nothing"))),
        case("gives a chunk over 1 MiB", PROTOCOL, raw_object(chunk((1 << 20) + 1, b"nothing"))),
        case(
            "gives an object without end",
            "the file is longer than",
            Manner::answer(|wire| {
                let zeros = Chunk::pack(&[0; 1 << 20], Algorithm::Zstd).expect("as much as there may be");
                let _ = wire.send(&Message::CompileResult(result(0, "")));
                while wire.send(&Message::FileChunk(zeros.clone())).is_some() {}
            }),
        ),
    ]
}

#[test]
fn servers_that_break_off_or_speak_something_else() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    for phase in [Phase::Canary, Phase::Work] {
        try_all(&bench, phase, &broken(&bench));
    }
}

fn entry_says(status: u8, words: &str) -> Manner {
    failing(result(status.into(), &format!("warning: w\n{MESSAGE_PREFIX}{words}\n")))
}

/// Those that say that it did not work.
fn unwilling() -> Vec<Case> {
    use thinbridge_protocol::bundle::{BAD_BUNDLE, BAD_OBJECT, INCOMPLETE_ENVIRONMENT};
    let exhausted = |status| CompileResult { out_of_memory: true, ..result(status, "LLVM ERROR: out of memory") };
    let gone = vec![Message::StatusText("gone".into()), Message::CompileResult(result(110, ""))];
    vec![
        case("a compile error", "ended with status 1: error: no", failing(result(1, "error: no\nmore"))),
        case("a crash", "ended with status 139", failing(result(139, ""))),
        case("an absurd status", "ended with status -1", failing(result(-1, ""))),
        case("memory", "lacks memory or disk space", failing(exhausted(1))),
        case("killed", "out of memory?", failing(result(137, ""))),
        case("a damaged job", "the job arrived damaged: bad x", entry_says(BAD_BUNDLE, "bad x")),
        case("a damaged environment", "its environment is damaged: bad y", entry_says(INCOMPLETE_ENVIRONMENT, "bad y")),
        case("no object", "made no object: bad z", entry_says(BAD_OBJECT, "bad z")),
        case("no compiler", "no longer has the environment: gone", saying(gone, b"")),
        case("given up", "gave the job up", failing(result(107, ""))),
        case("told to end", "gave the job up", failing(result(143, ""))),
    ]
}

#[test]
fn servers_that_say_that_it_did_not_work() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    for phase in [Phase::Canary, Phase::Work] {
        try_all(&bench, phase, &unwilling());
    }
}

#[test]
fn a_host_with_a_damaged_environment_is_named_to_the_scheduler_and_another_has_its_job() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let bad = entry_says(96, "libLLVM is missing");
    let cluster = FakeCluster::start(vec![FakeHost::new(move |_| bad.clone()), FakeHost::honest(&bench.object)]);
    let ran = bench.run(4, "", &[&cluster.option(), "--fallback=off"]);
    ran.expect_right(&bench).expect_failed(&cluster.host(0), Phase::Canary, "libLLVM is missing");
    assert_eq!(ran.report["totals"]["remote"], 4, "{:#}", ran.report);
    let bad: Vec<String> = cluster.told().bad_hosts.into_iter().collect();
    assert_eq!(bad, [cluster.host(0).split(':').next().expect("an address")]);
    cluster.expect_nothing_left();
}

#[test]
fn a_host_whose_first_object_is_a_lie_is_out() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let unlike = "its object differs from the one made here";
    let lies = [
        case("another byte", unlike, object(&lie(&bench.object, code(&bench.object)[3]))),
        case("another module's", "object", object(&bench.others_object)),
        case("under another name", "object", object(&bench.misnamed_object)),
        case("for another machine", "a wrong object", object(&bench.for_target("aarch64-linux-gnu"))),
    ];
    let ran = try_all(&bench, Phase::Canary, &lies);
    assert!(ran.stderr.contains("it gets no more jobs"), "{}", ran.stderr);
}

#[test]
fn a_later_lie_is_caught_when_every_object_is_compared() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let (good, lie) = (object(&bench.object), object(&lie(&bench.object, code(&bench.object)[3])));
    let cluster =
        FakeCluster::start(vec![FakeHost::new(move |number| if number < 3 { good.clone() } else { lie.clone() })]);
    let ran = bench.run(6, "", &[&cluster.option(), "--verify=1"]);
    ran.expect_right(&bench).expect_failed(&cluster.host(0), Phase::Work, "its object differs from the one made here");
    cluster.expect_nothing_left();
}

/// What looks odd and is none the worse for it.
#[test]
fn odd_but_good() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let whole = bench.object.clone();
    let chatty = Manner::answer(move |wire| {
        let _ = wire.send(&Message::StatusText("language not supported".into()));
        let _ = wire.send(&Message::CompileResult(result(0, "")));
        let _ = wire.send_file(&whole);
        wire.end();
    });
    let whole = bench.object.clone();
    let with_dwo = Manner::answer(move |wire| {
        let _ = wire.send(&Message::CompileResult(CompileResult { has_dwo: true, ..result(0, "") }));
        let _ = wire.send_file(&whole);
        let _ = wire.send_file(b"not an object");
        wire.end();
    });
    let whole = bench.object.clone();
    let in_bytes = Manner::answer(move |wire| {
        let _ = wire.send(&Message::CompileResult(result(0, "")));
        for byte in &whole {
            let piece = Chunk::pack(std::slice::from_ref(byte), Algorithm::Lzo).expect("a small piece");
            let _ = wire.send(&Message::FileChunk(piece));
        }
        let _ = wire.send(&Message::FileChunk(Chunk::pack(b"", Algorithm::Zstd).expect("nothing")));
        let _ = wire.send(&Message::End);
        wire.end();
    });
    let odd = [chatty, with_dwo, in_bytes];
    let hosts = odd.map(|manner| FakeHost::new(move |_| manner.clone()).grants(2)).into_iter();
    let cluster = FakeCluster::start(hosts.chain([FakeHost::honest(&bench.object)]).collect());
    let ran = bench.run(8, "", &[&cluster.option(), "--fallback=off"]);
    ran.expect_right(&bench);
    assert_eq!(ran.report["totals"]["remote"], 8, "{:#}", ran.report);
    for number in 0..3 {
        let host = &ran.report["hosts"][number];
        assert!(host["failures"] == 0 && host["jobs"].as_u64() >= Some(1), "{:#}", ran.report);
    }
    cluster.expect_nothing_left();
}

/// All of them at once, since each takes as long as a host may be silent.
fn silent(bench: &Bench) -> Vec<Case> {
    let held = |messages: Vec<Message>| {
        Manner::answer(move |wire| {
            let _ = messages.iter().try_for_each(|message| wire.send(message));
            wire.hold();
        })
    };
    let good = Message::CompileResult(result(0, ""));
    let piece = Message::FileChunk(Chunk::pack(&bench.object, Algorithm::Zstd).expect("a small object"));
    vec![
        case("says nothing at all", "in the greeting: nothing moved within", Manner::raw(wait_for_client)),
        case("greets", "no answer within", Manner::greeted(Icecream::hold)),
        case("takes the job", "no answer within", held(vec![])),
        case("explains itself", "no answer within", held(vec![Message::StatusText("wait".into())])),
        case("gives a result", "not complete within", held(vec![good.clone()])),
        case("gives all but the end", "not complete within", held(vec![good, piece])),
    ]
}

#[test]
fn servers_that_fall_silent() {
    if !require_linker() {
        return;
    }
    let bench = Bench::new();
    let cases = silent(&bench);
    std::thread::scope(|scope| {
        // A cluster of such hosts alone.
        scope.spawn(|| {
            let ran = try_beside(&bench, Phase::Canary, &cases, None);
            assert_eq!(ran.report["totals"]["remote"], 0, "{:#}", ran.report);
        });
        scope.spawn(|| {
            let ran = try_all(&bench, Phase::Work, &cases);
            assert_eq!(ran.report["totals"]["fallbacks"], cases.len(), "one job each: {:#}", ran.report);
        });
    });
}
