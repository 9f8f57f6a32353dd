//! The LZO1X stream, and the numbers that both directions need.
//!
//! A stream is a row of instructions. One copies *literals* (bytes that follow it), or a *match* (bytes already
//! produced, `distance` back) and then 0 to 3 literals, whose number stands in its two lowest bits `LL`. The first byte
//! tells which instruction it is:
//!
//! | first byte | name here | length | distance |
//! |---|---|---|---|
//! | `0000 NNNN`, no literals before | run | literals: `N` + 3; `N` = 0: 18 + extension | |
//! | `0000 DDLL` `H`, 1 to 3 literals before | tiny match | 2 | `H` · 4 + `D` + 1 |
//! | `0000 DDLL` `H`, a run before | tiny match | 3 | `H` · 4 + `D` + 2049 |
//! | `0001 HNNN` … `DDDDDDLL DDDDDDDD` | far match | `N` + 2; `N` = 0: 9 + extension | `H` · 16384 + `D` + 16384 |
//! | `001N NNNN` … `DDDDDDLL DDDDDDDD` | middle match | `N` + 2; `N` = 0: 33 + extension | `D` + 1 |
//! | `01ND DDLL` `H` and `1NND DDLL` `H` | near match | byte / 32 + 1 | `H` · 8 + `D` + 1 |
//!
//! An *extension* follows the first byte: each zero byte counts 255, the first other byte counts itself and ends it.
//! A far match with distance 16384 (the middle match reaches that) is the end marker. Only in front of the first
//! instruction may one byte from 18 to 255 stand: it copies byte - 17 literals, and counts as a run when those are 4
//! or more.

/// The end marker that every compressor writes.
pub(super) const END: [u8; 3] = [0x11, 0, 0];

/// First bytes below this are a run or a tiny match, from here on a far match.
pub(super) const FAR: u8 = 0b0001_0000;
/// First bytes from here on are a middle match.
pub(super) const MIDDLE: u8 = 0b0010_0000;
/// First bytes from here on are a near match.
pub(super) const NEAR: u8 = 0b0100_0000;

/// The bits of a run that hold its length.
pub(super) const RUN_LENGTH: u8 = 0b1111;
/// The bits of a far match that hold its length.
pub(super) const FAR_LENGTH: u8 = 0b111;
/// The bit of a far match that holds the highest bit of its distance.
pub(super) const FAR_DISTANCE: u8 = 0b1000;
/// The bits of a middle match that hold its length.
pub(super) const MIDDLE_LENGTH: u8 = 0b1_1111;

/// The longest match distance that the near form can hold, in bytes.
pub(super) const NEAR_MAX_DISTANCE: usize = 0x800;
/// The longest match distance that the middle form can hold, in bytes; the far form counts from here.
pub(super) const MIDDLE_MAX_DISTANCE: usize = 0x4000;
/// The longest match distance that the far form can hold, in bytes.
pub(super) const FAR_MAX_DISTANCE: usize = 0xbfff;
/// The longest match that the near form can hold, in bytes.
pub(super) const NEAR_MAX_LENGTH: usize = 8;

/// What a first byte of the stream that copies literals adds to their number.
pub(super) const FIRST_RUN: u8 = 17;
/// The shortest run, in bytes: fewer literals stand in the instruction before them, or (at the start) behind a first
/// byte of their own.
pub(super) const MIN_RUN: usize = 4;
