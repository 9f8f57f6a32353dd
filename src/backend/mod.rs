//! The places where a job can run, one file each: [`distcc`] hosts, an [`icecream`] cluster and the [`local`] machine.
//!
//! The only code that opens a connection to a host or starts a compiler.

pub mod distcc;
pub mod icecream;
pub mod local;
mod outbox;
mod patience;
mod phases;
pub mod slots;
mod transport;

use std::time::Duration;

use bytes::Bytes;

use crate::link::plan::Plan;
use crate::schedule::Fault;

/// The largest object taken, as a multiple of the module's bitcode: a hostile host must not fill our memory, and the
/// largest ratio seen, of template code with debug information, is below 8.
const OBJECT_PER_BITCODE: usize = 64;

/// The least that `OBJECT_PER_BITCODE` may come to: small modules can unroll a lot.
const MIN_OBJECT_CAP: usize = 64 << 20;

/// The largest object taken for a job, in bytes.
fn object_cap(plan: &Plan, job: usize) -> usize {
    let module = plan.jobs.get(job).map_or(0, |planned| planned.module.bytes.len());
    module.saturating_mul(OBJECT_PER_BITCODE).max(MIN_OBJECT_CAP)
}

/// An attempt on a host that brought nothing.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Whose fault: decides what happens to the host and the job.
    pub fault: Fault,
    /// In words for the user.
    pub reason: String,
}

impl Failure {
    pub(crate) fn new(fault: Fault, reason: impl Into<String>) -> Self {
        Self { fault, reason: reason.into() }
    }
}

/// What an attempt moved and how long its phases took, whatever came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Bytes written to the host.
    pub sent: u64,
    /// Bytes read from the host.
    pub received: u64,
    /// Connecting and sending.
    pub sending: Duration,
    /// From the end of the request to the first byte of the answer.
    pub waiting: Duration,
    /// From the first to the last byte of the answer.
    pub receiving: Duration,
}

/// What a host made of a job, not verified.
#[derive(Debug)]
pub struct Made {
    /// The object.
    pub object: Bytes,
    /// What the compiler wrote to its standard error.
    pub stderr: Vec<u8>,
}

/// Characters of a host's line that a reason quotes: enough for any version or error, and no screenful.
const MAX_TOLD: usize = 200;

/// A line that a host chose, as a reason quotes it.
fn told_line(line: &str) -> String {
    line.chars().take(MAX_TOLD).collect::<String>().escape_debug().to_string()
}

/// A byte of what a host's compiler said, without control characters: a host has no say over the user's terminal.
fn harmless(byte: &u8) -> u8 {
    if byte.is_ascii_control() && !b"\n\t".contains(byte) { b'?' } else { *byte }
}
