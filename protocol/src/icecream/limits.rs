//! The caps on everything whose size the peer chooses, each with its reason.
//!
//! Strings and lists need none of their own: what a frame announces is compared with what is left of it, before
//! anything is allocated.

/// Longest frame in bytes, without its length: a stock peer closes a connection on which a longer one comes.
pub const MAX_FRAME_LEN: usize = 1024 * 1024;

/// Most bytes that one chunk may stand for: what stock peers take. Whatever a chunk's frame says, it never becomes
/// larger in memory.
pub const MAX_CHUNK_LEN: usize = 1024 * 1024;

/// Bytes of a content that one chunk of ours carries: zstd chooses its tables by the length, and of bitcode it makes less
/// with this one than with the 100,000 bytes of stock senders (45 instead of 48 per cent), or with twice as many.
pub const CHUNK_LEN: usize = 256 * 1024;

/// Greatest number that a peer may greet with, a limit that stock peers set: it tells a version from the first bytes of
/// some other protocol.
pub const MAX_GREETING: u32 = 1 << 20;

/// Least number that a peer may greet with: stock peers take nothing less for a version.
pub const MIN_GREETING: u32 = 21;

/// Longest netname in bytes: what is left of a discovery reply after its fixed fields.
pub const MAX_NETNAME_LEN: usize = 268 - 13 - 1;
