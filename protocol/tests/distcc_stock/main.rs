//! The protocol against the stock programs: `distccd` as the server, `distcc` as the client.
#![cfg(unix)]
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

mod client;
mod daemon;
mod scan;
mod server;
