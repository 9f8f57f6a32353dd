//! Many bad hosts, a batch of them in one run.

use crate::bench::{Bench, Phase, Ran};
use crate::support::{Behaviour, Scripted};

/// Hosts in one run: below the usual limit of open files, with other tests running.
const BATCH: usize = 32;

/// Jobs after which a host is out, whatever it did to them.
const JOBS_PER_HOST: usize = 3;

/// One way to be bad.
pub(crate) struct Case {
    name: String,
    behaviour: Behaviour,
    /// What the report has to say of it.
    words: &'static str,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, words: &'static str, behaviour: Behaviour) -> Self {
        Self { name: name.into(), behaviour, words }
    }
}

/// One host for each case, bad from `phase` on. Every host fails, in the expected words, and every object is right.
#[track_caller]
pub(crate) fn try_all(bench: &Bench, phase: Phase, cases: &[Case]) {
    for batch in cases.chunks(BATCH) {
        let (ran, peers) = run(bench, phase, batch);
        for (case, peer) in batch.iter().zip(&peers) {
            eprintln!("{} ({phase:?}) at {}", case.name, peer.name());
            ran.expect_failed(&peer.name(), phase, case.words);
        }
    }
}

/// As [`try_all`], for answers that are no proof against the host: only the job tells of them.
#[track_caller]
pub(crate) fn try_all_unblamed(bench: &Bench, cases: &[Case]) {
    // One at a time: such a host goes on taking jobs and might leave none to another.
    for batch in cases.chunks(1) {
        let (ran, peers) = run(bench, Phase::Work, batch);
        for (case, peer) in batch.iter().zip(&peers) {
            eprintln!("{} at {}", case.name, peer.name());
            ran.expect_attempt(&peer.name(), case.words);
        }
    }
}

#[track_caller]
fn run(bench: &Bench, phase: Phase, batch: &[Case]) -> (Ran, Vec<Scripted>) {
    let peers: Vec<Scripted> = batch.iter().map(|case| bench.host(phase, case.behaviour.clone())).collect();
    // One slot each, so that the connections' numbers tell the phase.
    let hosts: Vec<String> = peers.iter().map(|peer| format!("{}/1", peer.name())).collect();
    // The canary, and jobs enough for every host: one that fails in a way that may be the job's fault gets up to three.
    let ran = bench.run(1 + JOBS_PER_HOST * batch.len(), &hosts.join(" "), &[]);
    ran.expect_right(bench);
    (ran, peers)
}
