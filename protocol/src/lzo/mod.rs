//! LZO1X, the compression of every bulk body of distcc's protocol versions 2 and 3.
//!
//! A body is one raw LZO1X block: no header, no checksum, no uncompressed size, and an end marker. [`compress()`]
//! writes blocks that liblzo2's `lzo1x_decompress_safe` takes, [`decompress()`] reads whatever that library's
//! compressors write. Both were written from public descriptions of the format, which `format.rs` sums up.
//!
//! The format cannot tell damaged bytes from sound ones: most streams with a flipped bit decode to something. Whoever
//! needs to know that the bytes are right has to check what they decode to.

mod compress;
mod decompress;
mod format;
#[doc(hidden)]
pub mod fuzz;
mod write;

pub use compress::{compress, compress_into, compressed_bound};
pub use decompress::decompress;

use std::fmt;

/// Why a stream was not decompressed. Each of these is the fault of whoever sent the stream.
///
/// Places are offsets in bytes from the start of the stream: how far it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The stream stops before its end marker.
    Truncated {
        /// The stream's length in bytes.
        length: usize,
    },
    /// A match begins before the first byte of the output.
    LookBehind {
        /// How far the stream was read.
        offset: usize,
        /// How far back the match begins, in bytes.
        distance: usize,
        /// How many bytes there were to look back on.
        produced: usize,
    },
    /// The output would be longer than the caller allows.
    TooLarge {
        /// How far the stream was read.
        offset: usize,
        /// The most bytes that the caller allows.
        cap: usize,
    },
    /// Bytes follow the end marker.
    TrailingBytes {
        /// Where the first of them stands.
        offset: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { length } => write!(f, "LZO stream of {length} bytes stops before its end marker"),
            Self::LookBehind { offset, distance, produced } => write!(
                f,
                "LZO stream refers {distance} bytes back at offset {offset}, where only {produced} bytes were produced"
            ),
            Self::TooLarge { offset, cap } => {
                write!(f, "LZO stream grows beyond the limit of {cap} bytes at offset {offset}")
            }
            Self::TrailingBytes { offset } => {
                write!(f, "LZO stream goes on after its end marker, from offset {offset}")
            }
        }
    }
}

impl std::error::Error for Error {}
