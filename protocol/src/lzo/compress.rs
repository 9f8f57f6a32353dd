//! The compressor: greedy, one look-up a position, in the class of liblzo2's `lzo1x_1_compress`.

use super::format::{FAR_MAX_DISTANCE, NEAR_MAX_DISTANCE};
use super::write::Writer;

/// Bits of a hash. 2^14 entries of two bytes just fit the first-level cache of common processors.
const HASH_BITS: u32 = 14;

/// The shortest match that is looked for, in bytes: what is hashed.
const MIN_MATCH: usize = size_of::<u32>();

/// The input is searched in blocks of this many bytes. Within one, every distance can be written, and every position
/// fits an entry of the table.
const BLOCK: usize = FAR_MAX_DISTANCE + 1;

/// Matches do not begin in this many bytes at the end of the input, so that whole words can be loaded from there.
const MARGIN: usize = 20;

/// The output is expected to be at least one part in this many of the input.
const EXPECTED_COMPRESSION: usize = 2;

/// The search begins to skip positions after 2^this of them without a match, and skips more the longer it finds none:
/// incompressible input costs little time.
const SKIP_SHIFT: u32 = 5;

/// The most bytes that [`compress`] writes for an input of `length` bytes: `length + length / 255 + 5`, which is below
/// the `n + n / 64 + 19` that stock distcc sets aside.
///
/// A run of literals costs at most two bytes beside them, and one more for each 255 of them. The match after it saves
/// at least two, or at least one if the output is shorter than the input by then. The last run has no match after it,
/// only the end marker.
#[must_use]
pub const fn compressed_bound(length: usize) -> usize {
    length.saturating_add(length / 255).saturating_add(5)
}

/// Compresses `src` to one LZO1X block with its end marker, of at most [`compressed_bound`] bytes.
///
/// distcc never compresses an empty body; the block for one is the end marker alone.
#[must_use]
pub fn compress(src: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(src.len() / EXPECTED_COMPRESSION);
    compress_into(src, &mut out);
    out.shrink_to_fit();
    out
}

/// Appends to `out` what [`compress`] returns, for callers that reuse a buffer.
pub fn compress_into(src: &[u8], out: &mut Vec<u8>) {
    let mut writer = Writer::new(src, out);
    let mut table = Table::new();
    let mut start = 0;
    while let Some(block) = src.get(start..).filter(|block| block.len() > MARGIN) {
        table.clear();
        let search_end = (block.len() - MARGIN).min(BLOCK);
        let mut at = 0;
        while let Some(found) = table.find(block, at, search_end, if writer.is_ahead() { 1 } else { 2 }) {
            writer.run(start + found.at);
            writer.copy(found.distance, found.length);
            at = found.at + found.length;
        }
        start += at.max(search_end);
    }
    writer.finish();
}

/// A match: `length` bytes at `at` equal those `distance` bytes before.
struct Match {
    at: usize,
    distance: usize,
    length: usize,
}

impl Match {
    /// How many bytes it saves if it is short: it takes two to write when it is near, else three.
    #[inline(always)]
    const fn saving(&self) -> usize {
        self.length - if self.distance <= NEAR_MAX_DISTANCE { 2 } else { 3 }
    }
}

/// For each hash, where in the block it was seen last; the block's start where it was not seen.
struct Table([u16; 1 << HASH_BITS]);

impl Table {
    const fn new() -> Self {
        Self([0; 1 << HASH_BITS])
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Looks for the next match that begins between `from` and `end`.
    #[inline(always)]
    fn find(&mut self, block: &[u8], from: usize, end: usize, least_saving: usize) -> Option<Match> {
        let mut at = from;
        while at < end {
            let word = load32(block, at)?;
            let entry = self.0.get_mut(hash(word))?;
            let earlier = usize::from(*entry);
            *entry = at as u16;
            if load32(block, earlier)? == word && earlier != at {
                let found = extend(block, from, earlier, at);
                if found.saving() >= least_saving {
                    return Some(found);
                }
            }
            at += 1 + ((at - from) >> SKIP_SHIFT);
        }
        None
    }
}

/// Makes a match of [`MIN_MATCH`] bytes as long as it can be, in both directions, but not beginning before `from`.
#[inline(always)]
fn extend(block: &[u8], from: usize, earlier: usize, at: usize) -> Match {
    let mut length = MIN_MATCH + common_prefix(block, earlier + MIN_MATCH, at + MIN_MATCH);
    let mut begin = at;
    let distance = at - earlier;
    while begin > from && begin > distance && block.get(begin - 1) == block.get(begin - 1 - distance) {
        begin -= 1;
        length += 1;
    }
    Match { at: begin, distance, length }
}

/// Maps four bytes to an index of [`Table`]: Fibonacci hashing.
#[inline(always)]
const fn hash(word: u32) -> usize {
    (word.wrapping_mul(0x9e37_79b1) >> (u32::BITS - HASH_BITS)) as usize
}

/// How many bytes from `earlier` on equal those from `later` on.
#[inline(always)]
fn common_prefix(bytes: &[u8], earlier: usize, later: usize) -> usize {
    let mut length = 0;
    while let (Some(a), Some(b)) = (load64(bytes, earlier + length), load64(bytes, later + length)) {
        let difference = a ^ b;
        if difference != 0 {
            return length + (difference.trailing_zeros() / u8::BITS) as usize;
        }
        length += size_of::<u64>();
    }
    let tail = |from: usize| bytes.get(from + length..).unwrap_or_default();
    length + tail(earlier).iter().zip(tail(later)).take_while(|(a, b)| a == b).count()
}

#[inline(always)]
fn load32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + size_of::<u32>())?.first_chunk().copied().map(u32::from_le_bytes)
}

#[inline(always)]
fn load64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + size_of::<u64>())?.first_chunk().copied().map(u64::from_le_bytes)
}
