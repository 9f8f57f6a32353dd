//! The bitcode room against the real compiler and linker: whatever the modules are called and hold, a renamed shard gives
//! the object that in-process ThinLTO gives, a damaged one is mended, and an object is known as right or wrong.
//!
//! Each case is a program. It is linked once in-process, keeping the objects, and once with a distributor that keeps what
//! the linker hands it and fails the link.

#![allow(clippy::unwrap_used, reason = "what fails in a test's own tools fails the test")]

#[path = "bitcode/cases.rs"]
mod cases;
#[path = "bitcode/corpus.rs"]
mod corpus;
#[path = "bitcode/harness.rs"]
mod harness;
