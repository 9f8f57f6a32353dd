//! The icecream protocol against the stock programs: `iceccd` and `icecc` at a scheduler and a compile server that are
//! made of our codecs, `iceccd` as the compile server of our client, `icecc-scheduler` as the scheduler of our daemon.
#![cfg(target_os = "linux")]
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

mod client;
mod daemon;
mod local;
mod peer;
mod scheduler;
mod server;
mod stock_scheduler;
