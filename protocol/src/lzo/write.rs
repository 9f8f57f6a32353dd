//! Writes instructions: the compressor's output.

use super::format::{
    END, FAR, FAR_DISTANCE, FAR_LENGTH, FIRST_RUN, MIDDLE, MIDDLE_LENGTH, MIDDLE_MAX_DISTANCE, MIN_RUN,
    NEAR_MAX_DISTANCE, NEAR_MAX_LENGTH, RUN_LENGTH,
};

/// Bytes that are gathered before they are appended to the output: few enough to stay in the first-level cache.
const GATHERED: usize = 4096;

/// The most bytes that a match and the run after it put into the buffer.
const ROOM: usize = 256;

/// Literals are copied in chunks of this many bytes.
const CHUNK: usize = 16;

/// A longer run of literals than this, in bytes, goes to the output directly.
const SHORT_RUN: usize = 4 * CHUNK;

/// More zero bytes than this in a length extension go to the output directly.
const SHORT_EXTENSION: usize = 32;

// A match: length, extension, operand. A run: length, extension, chunks.
const _: () = assert!(2 * (1 + SHORT_EXTENSION + 1) + 2 + SHORT_RUN <= ROOM);

/// Appends to `out` the stream for a source, which is taken by matches and runs from its start to its end.
///
/// Short pieces are gathered in a buffer of constant size, where a whole chunk can be written of which only the first
/// bytes count. After a match the buffer is not emptied before the number of literals was added to it.
pub(super) struct Writer<'a> {
    src: &'a [u8],
    taken: usize,
    buffer: [u8; GATHERED],
    end: usize,
    out: &'a mut Vec<u8>,
    /// The length that `out` had.
    begin: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(src: &'a [u8], out: &'a mut Vec<u8>) -> Self {
        Self { src, taken: 0, buffer: [0; GATHERED], end: 0, begin: out.len(), out }
    }

    /// Whether the stream so far is shorter than what it stands for.
    #[inline(always)]
    pub(super) fn is_ahead(&self) -> bool {
        self.out.len() - self.begin + self.end < self.taken
    }

    /// Writes the source up to `until` as literals. What was written before is a match, or nothing.
    #[inline(always)]
    pub(super) fn run(&mut self, until: usize) {
        let length = until - self.taken;
        if self.end == 0 {
            self.first_run(length);
        } else if length < MIN_RUN {
            self.few_literals(length);
        } else {
            self.run_length(length);
            self.literals(length);
        }
    }

    /// Writes a match that stands for the next `length` bytes of the source.
    #[inline(always)]
    pub(super) fn copy(&mut self, distance: usize, length: usize) {
        if self.end > GATHERED - ROOM {
            self.flush();
        }
        self.taken += length;
        if length <= NEAR_MAX_LENGTH && distance <= NEAR_MAX_DISTANCE {
            let distance = distance - 1;
            let first = ((length - 1) << 5) | ((distance & 0b111) << 2);
            return self.bytes([first as u8, (distance >> 3) as u8]);
        }
        let (kind, mask, distance) = if distance <= MIDDLE_MAX_DISTANCE {
            (MIDDLE, MIDDLE_LENGTH, distance - 1)
        } else {
            let further = distance - MIDDLE_MAX_DISTANCE;
            (FAR | (further >> 11) as u8 & FAR_DISTANCE, FAR_LENGTH, further)
        };
        let length = length - 2;
        let [low, high] = ((distance << 2) as u16).to_le_bytes();
        if length <= usize::from(mask) {
            self.bytes([kind | length as u8, low, high]);
        } else {
            self.bytes([kind]);
            self.extension(length - usize::from(mask));
            self.bytes([low, high]);
        }
    }

    /// Writes what is left of the source, and the end marker.
    pub(super) fn finish(mut self) {
        self.run(self.src.len());
        self.flush();
        self.out.extend_from_slice(&END);
    }

    #[cold]
    fn first_run(&mut self, length: usize) {
        match u8::try_from(length).ok().and_then(|length| length.checked_add(FIRST_RUN)) {
            Some(FIRST_RUN) => return,
            Some(first) => self.bytes([first]),
            None => self.run_length(length),
        }
        self.literals(length);
    }

    /// Adds up to three literals to the match before. Of each match, the last byte but one has room for their number.
    #[inline(always)]
    fn few_literals(&mut self, length: usize) {
        self.buffer[self.end - 2] |= length as u8;
        match self.src[self.taken..].first_chunk::<4>() {
            Some(chunk) => {
                self.put(0, *chunk);
                self.end += length;
                self.taken += length;
            }
            None => self.literals(length),
        }
    }

    #[inline(always)]
    fn run_length(&mut self, length: usize) {
        let length = length - (MIN_RUN - 1);
        if length <= usize::from(RUN_LENGTH) {
            self.bytes([length as u8]);
        } else {
            self.bytes([0]);
            self.extension(length - usize::from(RUN_LENGTH));
        }
    }

    #[inline(always)]
    fn literals(&mut self, length: usize) {
        let rest = &self.src[self.taken..];
        self.taken += length;
        let (chunks, _) = rest.as_chunks::<CHUNK>();
        match chunks.get(..length.div_ceil(CHUNK)) {
            Some(chunks) if length <= SHORT_RUN => {
                for (number, chunk) in chunks.iter().enumerate() {
                    self.put(number * CHUNK, *chunk);
                }
                self.end += length;
            }
            _ => {
                self.flush();
                self.out.extend_from_slice(&rest[..length]);
            }
        }
    }

    /// Writes the part of a length that its first byte has no room for, at least 1.
    #[inline(always)]
    fn extension(&mut self, length: usize) {
        let zeros = (length - 1) / usize::from(u8::MAX);
        if zeros > SHORT_EXTENSION {
            self.flush();
            self.out.resize(self.out.len() + zeros, 0);
        } else {
            for _ in 0..zeros {
                self.bytes([0]);
            }
        }
        self.bytes([(length - zeros * usize::from(u8::MAX)) as u8]);
    }

    #[inline(always)]
    fn bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        self.put(0, bytes);
        self.end += N;
    }

    /// Puts bytes into the buffer, `offset` after its end, which stays where it is.
    #[inline(always)]
    fn put<const N: usize>(&mut self, offset: usize, bytes: [u8; N]) {
        let at = self.end + offset;
        self.buffer[at..at + N].copy_from_slice(&bytes);
    }

    #[inline(never)]
    fn flush(&mut self) {
        self.out.extend_from_slice(&self.buffer[..self.end]);
        self.end = 0;
    }
}
