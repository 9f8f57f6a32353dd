//! Well-formed objects with other code in them: only a comparison with a local compile can tell.

use crate::bench::{Bench, Phase, code, lie};
use crate::cases::{Case, try_all};
use crate::support::require_farm;

const UNLIKE: &str = "its object differs from the one made here";

#[test]
fn a_host_whose_first_object_has_other_code_gets_no_job() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let places = code(&bench.object);
    assert!(places.len() > 10, "functions");
    let cases: Vec<Case> = places
        .into_iter()
        .map(|at| Case::new(format!("byte {at}"), UNLIKE, bench.answer_with(&lie(&bench.object, at))))
        .collect();
    try_all(&bench, Phase::Canary, &cases);
}

#[test]
fn a_later_lie_is_caught_when_every_object_is_compared() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let lie = lie(&bench.object, code(&bench.object)[3]);
    // The canary and two more jobs are right.
    let peer = bench.host_from(4, bench.answer_with(&lie));
    let ran = bench.run(8, &format!("{}/1", peer.name()), &["--verify=1"]);
    ran.expect_right(&bench).expect_failed(&peer.name(), Phase::Work, UNLIKE);
    assert_eq!(ran.report["totals"]["remote"], 3, "compared objects are kept: {:#}", ran.report);
    assert!(ran.stderr.contains("it gets no more jobs"), "{}", ran.stderr);
}

#[test]
fn one_lie_that_is_caught_casts_out_all_that_the_host_made() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let lie = lie(&bench.object, code(&bench.object)[3]);
    let peer = bench.host(Phase::Work, bench.answer_with(&lie));
    // One object in four is compared; which, no host can know. Those before it have been published, and are replaced.
    let ran = bench.run(24, &format!("{}/1", peer.name()), &["--verify=0.25"]);
    ran.expect_right_at_last(&bench).expect_failed(&peer.name(), Phase::Work, UNLIKE);
    assert_eq!(ran.report["totals"]["remote"], 1, "only the canary is the host's: {:#}", ran.report);
    assert_eq!(ran.report["hosts"][0]["jobs"], 1);
    let jobs = ran.report["jobs"].as_array().expect("jobs");
    let believed = jobs.iter().flat_map(|job| job["attempts"].as_array().expect("attempts"));
    assert_eq!(believed.filter(|attempt| attempt["outcome"] == "ok").count(), 1, "{:#}", ran.report);
}

/// Memory or a network that damages what can be seen has damaged, perhaps, what cannot.
#[test]
fn what_a_host_made_before_something_damaged_is_made_again() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let cut = &bench.object[..bench.object.len() - 1];
    // The canary and three jobs are right as far as anybody can see.
    let peer = bench.host_from(5, bench.answer_with(cut));
    let ran = bench.run(8, &format!("{}/1", peer.name()), &[]);
    ran.expect_right_at_last(&bench).expect_failed(&peer.name(), Phase::Work, "a wrong object");
    assert_eq!(ran.report["totals"]["remote"], 1, "only the canary was compared: {:#}", ran.report);
    assert!(ran.stderr.contains("what it made so far (3) is made again"), "{}", ran.stderr);
}

#[test]
fn a_liar_s_jobs_go_to_honest_hosts() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let lie = lie(&bench.object, code(&bench.object)[3]);
    let liar = bench.host(Phase::Work, bench.answer_with(&lie));
    let honest = bench.host_from(usize::MAX, bench.answer_with(b""));
    let hosts = format!("{}/1 {}/1", liar.name(), honest.name());
    let ran = bench.run(24, &hosts, &["--verify=1"]);
    ran.expect_right(&bench).expect_failed(&liar.name(), Phase::Work, UNLIKE);
    assert_eq!(ran.report["hosts"][1]["failures"], 0, "{:#}", ran.report);
    assert!(ran.report["hosts"][1]["jobs"].as_u64() >= Some(20), "{:#}", ran.report);
}

/// The limit that SECURITY.md states: trust in a host beyond its first object is trust, unless `--verify` is given.
#[test]
fn without_verify_a_host_that_lies_after_its_first_object_is_believed() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let lie = lie(&bench.object, code(&bench.object)[3]);
    let peer = bench.host(Phase::Work, bench.answer_with(&lie));
    let ran = bench.run(3, &format!("{}/1", peer.name()), &["--verify=0"]);
    assert!(ran.status.success(), "{}", ran.stderr);
    assert_eq!(ran.objects.iter().filter(|object| object.as_ref() == Some(&lie)).count(), 2);
}
