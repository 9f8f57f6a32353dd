//! Hosts that keep us waiting. That a test ends at all shows that the waiting is bounded.

use std::io::Write;
use std::time::Duration;

use crate::bench::{Bench, Phase, VERSION, version_answer};
use crate::cases::{Case, try_all};
use crate::support::{Behaviour, Reply, Request, Scripted, require_farm};

const SILENT: &str = "no answer within 1.0 s";
const HALF: &str = "the answer was not complete within 1.0 s";

#[test]
fn a_host_that_falls_silent_in_any_phase() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new().impatient();
    for phase in [Phase::Probe, Phase::Canary, Phase::Work] {
        let answer = match phase {
            Phase::Probe => version_answer(VERSION),
            _ => Reply::success(&bench.object).encode(),
        };
        let held = |end: usize| Behaviour::AnswerAndHold(answer[..end].to_vec());
        let cases = [
            Case::new("silent", SILENT, Behaviour::Silent),
            Case::new("reads nothing", SILENT, Behaviour::Deaf),
            Case::new("half a header", HALF, held(5)),
            Case::new("two headers", HALF, held(24)),
            Case::new("all but a byte", HALF, held(answer.len() - 1)),
        ];
        try_all(&bench, phase, &cases);
    }
}

#[test]
fn the_only_host_falls_silent_after_some_good_jobs() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new().impatient();
    for good in [1, 3] {
        // The probe, the canary, and the jobs.
        let peer = bench.host_from(2 + good, Behaviour::Silent);
        let ran = bench.run(8, &format!("{}/1", peer.name()), &[]);
        ran.expect_right(&bench).expect_failed(&peer.name(), Phase::Work, SILENT);
        let remote = good as u64 + 1;
        assert_eq!(ran.report["totals"]["remote"], remote, "{:#}", ran.report);
        assert_eq!(ran.report["totals"]["fallbacks"], 8 - remote, "{:#}", ran.report);
    }
}

#[test]
fn a_host_that_trickles_for_ever() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new().impatient();
    let good = bench.good_answer();
    let peer = Scripted::serve(move |number, mut stream| {
        let Ok(request) = Request::read(&stream) else { return };
        if number < 2 {
            let _ = stream.write_all(&good(&request));
            let _ = stream.shutdown(std::net::Shutdown::Both);
            return;
        }
        let _ = stream.set_nodelay(true);
        let _ = stream.write_all(b"DONE00000003STAT00000000SERR00ffffff");
        // Each byte is a sign of life, but the job never ends.
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let ran = bench.run(3, &format!("{}/1", peer.name()), &[]);
    ran.expect_right(&bench).expect_failed(&peer.name(), Phase::Work, HALF);
}

#[test]
fn a_host_that_does_not_take_a_large_request() {
    if !require_farm() {
        return;
    }
    let bench = Bench::large().impatient();
    let peer = bench.host(Phase::Canary, Behaviour::Deaf);
    let ran = bench.run(2, &format!("{}/1", peer.name()), &[]);
    ran.expect_right(&bench).expect_failed(&peer.name(), Phase::Canary, "it did not take the request within 1.0 s");
}

/// Its slots are all taken, perhaps: nothing but the deadline ends the waiting, however long that is.
#[test]
fn a_host_that_does_not_take_a_large_request_is_slow_and_not_shut() {
    if !require_farm() {
        return;
    }
    let bench = Bench::large().waiting("13");
    let peer = bench.host(Phase::Canary, Behaviour::Deaf);
    let ran = bench.run(2, &format!("{}/1", peer.name()), &[]);
    ran.expect_right(&bench).expect_failed(&peer.name(), Phase::Canary, "it did not take the request within 13.0 s");
}
