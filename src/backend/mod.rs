//! The places where a job can run, one file each: [`distcc`] hosts and the [`local`] machine.
//!
//! The only code that opens a connection to a host or starts a compiler.

pub mod distcc;
pub mod local;
pub mod slots;
mod transport;

use std::time::Duration;

use crate::schedule::Fault;

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
