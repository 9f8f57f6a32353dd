//! The distcc protocol, versions 1 to 3, both ends.
//!
//! One connection carries one job: the client sends a [`Request`], the server answers with a [`Response`], both close.
//! There is no greeting and no negotiation, and a server that refuses just closes. Every item is a 12-byte
//! [`token::Header`], most of them followed by a body.
//!
//! | end | writes | reads |
//! |---|---|---|
//! | client | [`Request::encode`] | [`ResponseDecoder`] |
//! | server | [`Response::encode`] | [`RequestDecoder`] |
//!
//! Decoders are fed a buffer that the caller fills as bytes arrive, in any pieces; they take complete items off its
//! front. [`scan()`] tells whether a stock server would refuse a command line, [`hosts`] reads the client's host list.
//!
//! A client must never shut down its writing half, nor send surplus bytes: a stock server takes the first for the
//! client's death. To cancel a job, close.

mod body;
mod error;
pub mod hosts;
pub mod limits;
mod reader;
mod request;
mod response;
pub mod scan;
mod status;
pub mod token;
mod version;
mod writer;

pub use body::Compressed;
pub use error::{BadString, Error, Fault, Incompatibility, Misbehaviour, Unsendable};
pub use limits::{RequestLimits, ResponseLimits};
pub use request::{Content, File, Input, Request, RequestDecoder};
pub use response::{Ending, Response, ResponseDecoder};
pub use scan::scan;
pub use status::{ServerFailure, WaitStatus};
pub use token::Token;
pub use version::Version;
pub use writer::Encoded;

/// What a decoder makes of the bytes so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress<T> {
    /// The message goes on; more bytes are needed.
    Incomplete,
    /// The message is complete, and nothing follows it.
    Done(T),
}
