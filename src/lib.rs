//! thinbridge: runs the ThinLTO backend jobs of an `ld.lld` link on the distcc farm you already have.
#![deny(unsafe_code)]

pub mod bitcode;
pub mod schedule;
