//! Hosts that fail and objects that are wrong: whatever comes back, the link has the bytes of the local compile, the
//! report says which host and why, and nothing is left behind.

mod support;

#[path = "faults/answers.rs"]
mod answers;
#[path = "faults/bench.rs"]
mod bench;
#[path = "faults/cases.rs"]
mod cases;
#[path = "faults/daemons.rs"]
mod daemons;
#[path = "faults/lies.rs"]
mod lies;
#[path = "faults/midway.rs"]
mod midway;
#[path = "faults/objects.rs"]
mod objects;
#[path = "faults/proxied.rs"]
mod proxied;
#[path = "faults/silence.rs"]
mod silence;
#[path = "faults/trial.rs"]
mod trial;
