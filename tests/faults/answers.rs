//! Hosts that do not keep to the protocol.

use thinbridge_protocol::lzo;

use crate::bench::{Bench, Phase, VERSION, version_answer};
use crate::cases::{Case, try_all};
use crate::support::{Behaviour, Reply, Scripted, require_farm};

const PROTOCOL: &str = "does not keep to the distcc protocol";
const PHASES: [Phase; 3] = [Phase::Probe, Phase::Canary, Phase::Work];

/// The version of the protocol that a phase is spoken in.
fn version(phase: Phase) -> u32 {
    if phase == Phase::Probe { 1 } else { 3 }
}

#[test]
fn a_connection_that_closes_at_any_byte_of_the_answer() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let answer = Reply::success(&bench.object).encode();
    let places = (0..=64).chain((65..answer.len()).step_by(answer.len() / 30)).chain(answer.len() - 3..answer.len());
    let at_work: Vec<Case> = places
        .map(|end| {
            // Before the object is a sound place to end, for a compiler that made none.
            let words = if end == 48 { "there is no object" } else { "the connection was closed" };
            Case::new(format!("closed at {end}"), words, Behaviour::Answer(answer[..end].to_vec()))
        })
        .collect();
    try_all(&bench, Phase::Work, &at_work);

    let answer = version_answer(VERSION);
    let at_probe: Vec<Case> = (0..answer.len())
        .map(|end| {
            Case::new(
                format!("closed at {end}"),
                "the connection was closed",
                Behaviour::Answer(answer[..end].to_vec()),
            )
        })
        .collect();
    try_all(&bench, Phase::Probe, &at_probe);
}

#[test]
fn a_connection_that_closes_while_the_request_is_sent() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let cases = [0, 1, 11, 12, 60, 300].map(|count| {
        Case::new(format!("closed after {count} bytes"), "without an answer", Behaviour::CloseAfterReading(count))
    });
    for phase in [Phase::Canary, Phase::Work] {
        try_all(&bench, phase, &cases);
    }
    try_all(&bench, Phase::Probe, &[Case::new("closed", "--allow", Behaviour::Close)]);
}

#[test]
fn nonsense_instead_of_an_answer() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let random: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let texts: [(&str, &[u8]); 9] = [
        ("random bytes", &random),
        ("zeros", &[0; 512]),
        ("a web server", b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
        ("ssh", b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
        ("TLS", b"\x15\x03\x01\x00\x02\x02\x16\x15\x03\x01\x00\x02"),
        ("lower case", b"done00000003stat00000000"),
        ("no number", b"DONE0000000xSTAT00000000"),
        ("a signed number", b"DONE+0000003STAT00000000"),
        ("a request", b"DIST00000003CDIR00000001/ARGC00000000"),
    ];
    for phase in PHASES {
        let closing = texts.map(|(name, text)| Case::new(name, PROTOCOL, Behaviour::Answer(text.to_vec())));
        try_all(&bench, phase, &closing);
        // Nobody waits for more of it.
        let holding = texts.map(|(name, text)| Case::new(name, PROTOCOL, Behaviour::AnswerAndHold(text.to_vec())));
        try_all(&bench, phase, &holding);
    }
}

#[test]
fn an_answer_in_another_version() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    for phase in PHASES {
        let others = [0, 1, 2, 3, 4, 0xffff_ffff].into_iter().filter(|other| *other != version(phase));
        let cases: Vec<Case> = others
            .map(|other| {
                let reply = Reply { version: other, ..Reply::success(&bench.object) };
                Case::new(format!("version {other}"), PROTOCOL, Behaviour::Answer(reply.encode()))
            })
            .collect();
        try_all(&bench, phase, &cases);
    }
}

#[test]
fn giant_lengths_at_every_token() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    for phase in PHASES {
        let mut cases = Vec::new();
        for length in ["ffffffff", "7fffffff", "80000000", "20000000"] {
            let mut before = format!("DONE{:08x}STAT00000000", version(phase));
            // The object of a probe is not asked for, but a host may send one. The dependencies follow an object only
            // in version 3.
            let tokens: &[&str] =
                if phase == Phase::Probe { &["SERR", "SOUT", "DOTO"] } else { &["SERR", "SOUT", "DOTO", "DOTD"] };
            for token in tokens {
                let answer = format!("{before}{token}{length}and so on").into_bytes();
                // Held open: the length alone has to be enough.
                cases.push(Case::new(format!("{token} {length}"), "announces", Behaviour::AnswerAndHold(answer)));
                before.push_str(&format!("{token}00000000"));
            }
        }
        try_all(&bench, phase, &cases);
    }
}

#[test]
fn bodies_that_do_not_decompress() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let packed = lzo::compress(&bench.object);
    let mut damaged = packed.clone();
    damaged[packed.len() / 2..].fill(0xff);
    let mut longer = packed.clone();
    longer.extend_from_slice(&[0x11, 0, 0]);
    let bodies = [
        ("text", b"this is not compressed at all".to_vec()),
        ("one byte", vec![0]),
        ("not packed", bench.object.clone()),
        ("cut off", packed[..packed.len() - 5].to_vec()),
        ("damaged", damaged),
        ("with more behind it", longer),
        ("a run without end", vec![0; 4096]),
    ];
    let mut before = "DONE00000003STAT00000000".to_owned();
    let mut cases = Vec::new();
    for token in ["SERR", "SOUT", "DOTO"] {
        for (name, body) in &bodies {
            let mut answer = format!("{before}{token}{:08x}", body.len()).into_bytes();
            answer.extend_from_slice(body);
            cases.push(Case::new(format!("{token}: {name}"), "does not decompress", Behaviour::AnswerAndHold(answer)));
        }
        before.push_str(&format!("{token}00000000"));
    }
    for phase in [Phase::Canary, Phase::Work] {
        try_all(&bench, phase, &cases);
    }
}

#[test]
fn a_body_that_decompresses_to_more_than_any_compiler_says() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let case = |token: &str, before: &str, size: usize| {
        let body = bomb(size);
        let mut answer = format!("DONE00000003STAT00000000{before}{token}{:08x}", body.len()).into_bytes();
        answer.extend_from_slice(&body);
        Case::new(format!("{token} of {size} bytes"), "does not decompress", Behaviour::AnswerAndHold(answer))
    };
    let cases = [
        case("SERR", "", 256 << 20),
        case("SOUT", "SERR00000000", 256 << 20),
        case("DOTO", "SERR00000000SOUT00000000", 1 << 30),
    ];
    try_all(&bench, Phase::Work, &cases);
}

/// An LZO1X stream of `size` zeros and a few more, in about a 255th of that: one literal and a match that reaches one
/// byte back.
fn bomb(size: usize) -> Vec<u8> {
    // 21 literals make the shortest first run that needs no length bytes: 17 + 4.
    let mut stream = vec![17 + 4, 0, 0, 0, 0];
    // A match at distance 1 with a length of 2 + 31 + 255 for each zero byte + the last byte.
    stream.push(0x20);
    stream.extend(std::iter::repeat_n(0, size / 255));
    stream.extend_from_slice(&[1, 0, 0]);
    // End of stream.
    stream.extend_from_slice(&[0x11, 0, 0]);
    stream
}

#[test]
fn the_bomb_is_a_sound_stream() {
    let size = 1 << 20;
    let plain = lzo::decompress(&bomb(size), 2 * size).expect("it decompresses");
    assert!(plain.len() >= size && plain.iter().all(|byte| *byte == 0));
}

#[test]
fn more_than_the_whole_answer() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let answer = |more: &[u8]| {
        let mut answer = Reply::success(&bench.object).encode();
        answer.extend_from_slice(more);
        Behaviour::Answer(answer)
    };
    let cases = [
        Case::new("another object", PROTOCOL, answer(b"DOTO00000000")),
        Case::new("bytes behind the dependencies", PROTOCOL, answer(b"DOTD00000000surplus")),
        Case::new("another answer", PROTOCOL, answer(b"DOTD00000000DONE00000003")),
        Case::new("noise", PROTOCOL, answer(b"some noise, longer than a header")),
    ];
    for phase in [Phase::Canary, Phase::Work] {
        try_all(&bench, phase, &cases);
    }
}

#[test]
fn an_answer_in_single_bytes_is_as_good_as_any() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let peer = bench.host(Phase::Work, Behaviour::Trickle(Reply::success(&bench.object).encode()));
    let ran = bench.run(4, &peer.host(), &["--fallback=off"]);
    ran.expect_right(&bench);
    assert_eq!(ran.report["totals"]["remote"], 4, "{:#}", ran.report);
}

#[test]
fn an_answer_before_the_request_was_read_harms_nobody() {
    use std::io::Write;
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let good = Reply::success(&bench.object).encode();
    let probe = version_answer(VERSION);
    // The first connection is the probe; nothing is ever read, and all is said at once.
    let peer = Scripted::serve(move |number, mut stream| {
        let _ = stream.write_all(if number == 0 { &probe } else { &good });
        let _ = stream.shutdown(std::net::Shutdown::Write);
    });
    bench.run(4, &format!("{}/1", peer.name()), &[]).expect_right(&bench);
}
