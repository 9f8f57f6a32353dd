//! The bytes of the icecream protocol, and what each end makes of wrong ones.
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

mod captured;
mod chunks;
mod discovery;
mod frames;
mod greeting;
mod malformed;
mod messages;
