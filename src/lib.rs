//! thinbridge: runs the ThinLTO backend jobs of an `ld.lld` link on the distcc farm you already have.
//!
//! A link flows down through rooms named after its phases: [`link`] reads what the linker asks for, [`fleet`] says which
//! hosts there are, [`schedule`] decides who runs what, [`backend`] runs it, [`link`] verifies and publishes the objects,
//! [`report`] tells what happened. [`distribute`] is the story of one link from end to end.
#![deny(unsafe_code)]

pub mod backend;
pub mod bitcode;
pub mod cli;
pub mod config;
pub mod distribute;
pub mod environment;
pub mod files;
pub mod fleet;
pub mod link;
pub mod report;
pub mod schedule;
mod words;
