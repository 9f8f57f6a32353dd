//! The wire protocols of the farms that thinbridge uses, without IO.
//!
//! Bytes and the facts of the moment go in, values come out: nothing here opens a file, reads a clock or knows a
//! runtime.
#![forbid(unsafe_code)]

pub mod bundle;
pub mod distcc;
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "icecream")]
pub mod icecream;
pub mod lzo;
pub mod manifest;
