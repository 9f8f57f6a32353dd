//! The decompressor: takes every stream that liblzo2's `lzo1x_decompress_safe` takes, and no other.

use super::Error;
use super::format::{
    FAR, FAR_DISTANCE, FAR_LENGTH, FIRST_RUN, MIDDLE, MIDDLE_LENGTH, MIDDLE_MAX_DISTANCE, MIN_RUN, NEAR,
    NEAR_MAX_DISTANCE, RUN_LENGTH,
};

/// Matches are copied in chunks of this many bytes.
const CHUNK: usize = 16;

/// Runs of literals up to this many bytes are copied as one chunk of it: most of them are that short.
const SHORT_RUN: usize = 32;

/// Bytes that the buffer has beyond the output, so that chunks may be copied of which only the first bytes count.
const SLACK: usize = 32;

/// The first buffer has room for this many times the stream, which bitcode and objects seldom exceed.
const EXPECTED_EXPANSION: usize = 4;

/// Decompresses one LZO1X block to at most `cap` bytes.
///
/// Memory grows with the stream and with the output that it really makes, never beyond `cap` and a small constant.
///
/// # Errors
///
/// All of them are the fault of whoever made the stream, see [`Error`].
pub fn decompress(src: &[u8], cap: usize) -> Result<Vec<u8>, Error> {
    let mut input = Input { rest: src, length: src.len() };
    let mut output = Output::new(src.len().saturating_mul(EXPECTED_EXPANSION).min(cap), cap);
    let mut before = first_run(&mut input, &mut output)?;
    loop {
        let [first, second, third] = input.peek()?;
        let (distance, length, literals);
        if first >= NEAR {
            input.skip(2);
            distance = (usize::from(second) << 3) + usize::from(first >> 2 & 0b111) + 1;
            length = usize::from(first >> 5) + 1;
            literals = first & 0b11;
        } else if first >= MIDDLE {
            let operand;
            (length, operand) = input.length_and_operand(first & MIDDLE_LENGTH, MIDDLE_LENGTH, [second, third])?;
            distance = usize::from(operand >> 2) + 1;
            literals = operand as u8 & 0b11;
        } else if first >= FAR {
            let operand;
            (length, operand) = input.length_and_operand(first & FAR_LENGTH, FAR_LENGTH, [second, third])?;
            let further = usize::from(operand >> 2) + (usize::from(first & FAR_DISTANCE) << 11);
            if further == 0 {
                input.end()?;
                return Ok(output.finish());
            }
            distance = MIDDLE_MAX_DISTANCE + further;
            literals = operand as u8 & 0b11;
        } else if before == Before::Nothing {
            let length = input.run_length(first)?;
            output.literals(&mut input, length)?;
            before = Before::Run;
            continue;
        } else {
            input.skip(2);
            let (least, tiny) = if before == Before::Run { (NEAR_MAX_DISTANCE + 1, 3) } else { (1, 2) };
            distance = least + (usize::from(second) << 2) + usize::from(first >> 2);
            length = tiny;
            literals = first & 0b11;
        }
        output.copy(&input, distance, length)?;
        before = Before::Nothing;
        if literals != 0 {
            output.few_literals(&mut input, usize::from(literals))?;
            before = Before::Few;
        }
    }
}

/// The literals directly in front of an instruction: they decide what a first byte below [`FAR`] means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// None: it is a run.
    Nothing,
    /// One to three: it is a tiny match of two bytes.
    Few,
    /// Four or more: it is a tiny match of three bytes.
    Run,
}

/// The literals that only the start of a stream can have.
fn first_run(input: &mut Input<'_>, output: &mut Output) -> Result<Before, Error> {
    let Some(length) = input.rest.first().and_then(|first| first.checked_sub(FIRST_RUN)).filter(|length| *length > 0)
    else {
        return Ok(Before::Nothing);
    };
    input.skip(1);
    output.literals(input, usize::from(length))?;
    Ok(if usize::from(length) < MIN_RUN { Before::Few } else { Before::Run })
}

/// What is left to read of a stream of `length` bytes.
struct Input<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Input<'a> {
    /// The next three bytes: every instruction has them, because the end marker alone is three bytes long.
    #[inline(always)]
    fn peek(&self) -> Result<[u8; 3], Error> {
        self.rest.first_chunk().copied().ok_or_else(|| self.truncated())
    }

    #[inline(always)]
    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    #[inline(always)]
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads the rest of a far or middle match: the length that begins in the bits of `mask`, and the two bytes of the
    /// operand, which are `next` if the length has no extension.
    #[inline(always)]
    fn length_and_operand(&mut self, bits: u8, mask: u8, next: [u8; 2]) -> Result<(usize, u16), Error> {
        if bits != 0 {
            self.skip(3);
            return Ok((usize::from(bits) + 2, u16::from_le_bytes(next)));
        }
        self.skip(1);
        let length = self.extension()?.saturating_add(usize::from(mask) + 2);
        let operand = *self.rest.first_chunk().ok_or_else(|| self.truncated())?;
        self.skip(2);
        Ok((length, u16::from_le_bytes(operand)))
    }

    #[inline(always)]
    fn run_length(&mut self, first: u8) -> Result<usize, Error> {
        self.skip(1);
        let bits = if first == 0 { self.extension()?.saturating_add(RUN_LENGTH.into()) } else { first.into() };
        Ok(bits.saturating_add(MIN_RUN - 1))
    }

    /// Reads a length extension.
    fn extension(&mut self) -> Result<usize, Error> {
        let zeros = self.rest.iter().position(|byte| *byte != 0).ok_or_else(|| self.truncated())?;
        let last = self.rest.get(zeros).copied().map_or(0, usize::from);
        self.skip(zeros + 1);
        Ok(zeros.saturating_mul(usize::from(u8::MAX)).saturating_add(last))
    }

    fn end(&self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(Error::TrailingBytes { offset: self.offset() }) }
    }

    fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    #[cold]
    fn truncated(&self) -> Error {
        Error::Truncated { length: self.length }
    }
}

/// The output so far, `buffer` up to `end`. Behind it [`SLACK`] bytes more are always there.
struct Output {
    buffer: Vec<u8>,
    end: usize,
    cap: usize,
}

impl Output {
    fn new(expected: usize, cap: usize) -> Self {
        Self { buffer: vec![0; expected.saturating_add(SLACK)], end: 0, cap }
    }

    /// Makes room for `length` bytes more.
    #[inline(always)]
    fn reserve(&mut self, input: &Input<'_>, length: usize) -> Result<(), Error> {
        if length > self.buffer.len() - SLACK - self.end { self.grow(input, length) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, input: &Input<'_>, length: usize) -> Result<(), Error> {
        if length > self.cap - self.end {
            return Err(Error::TooLarge { offset: input.offset(), cap: self.cap });
        }
        let target = (self.end + length).max(self.buffer.len().saturating_mul(2)).min(self.cap).saturating_add(SLACK);
        self.buffer.reserve_exact(target - self.buffer.len());
        self.buffer.resize(target, 0);
        Ok(())
    }

    #[inline(always)]
    fn literals(&mut self, input: &mut Input<'_>, length: usize) -> Result<(), Error> {
        if length <= SHORT_RUN
            && let Some(chunk) = input.rest.first_chunk()
        {
            self.reserve(input, length)?;
            self.put::<SHORT_RUN>(self.end, *chunk);
            input.skip(length);
        } else {
            let literals = input.take(length)?;
            self.reserve(input, length)?;
            self.buffer[self.end..self.end + length].copy_from_slice(literals);
        }
        self.end += length;
        Ok(())
    }

    /// Copies up to three literals; the stream goes on after them, so that four can be read.
    #[inline(always)]
    fn few_literals(&mut self, input: &mut Input<'_>, length: usize) -> Result<(), Error> {
        let chunk = *input.rest.first_chunk::<4>().ok_or_else(|| input.truncated())?;
        self.reserve(input, length)?;
        self.put(self.end, chunk);
        input.skip(length);
        self.end += length;
        Ok(())
    }

    #[inline(always)]
    fn copy(&mut self, input: &Input<'_>, distance: usize, length: usize) -> Result<(), Error> {
        let Some(start) = self.end.checked_sub(distance) else {
            return Err(Error::LookBehind { offset: input.offset(), distance, produced: self.end });
        };
        self.reserve(input, length)?;
        if distance < CHUNK || self.copy_chunks(start, length).is_none() {
            self.repeat(start, length);
        }
        self.end += length;
        Ok(())
    }

    /// Copies whole chunks. Where one does not fit, which the slack prevents, it gives up.
    #[inline(always)]
    fn copy_chunks(&mut self, start: usize, length: usize) -> Option<()> {
        let mut done = 0;
        while done < length {
            let chunk = *self.buffer.get(start + done..)?.first_chunk::<CHUNK>()?;
            *self.buffer.get_mut(self.end + done..)?.first_chunk_mut()? = chunk;
            done += CHUNK;
        }
        Some(())
    }

    /// Appends `length` bytes that repeat those from `start` on: each round copies twice as many as the one before.
    fn repeat(&mut self, start: usize, length: usize) {
        let mut done = 0;
        while done < length {
            let count = (self.end + done - start).min(length - done);
            self.buffer.copy_within(start..start + count, self.end + done);
            done += count;
        }
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, at: usize, chunk: [u8; N]) {
        self.buffer[at..at + N].copy_from_slice(&chunk);
    }

    fn finish(mut self) -> Vec<u8> {
        self.buffer.truncate(self.end);
        self.buffer.shrink_to_fit();
        self.buffer
    }
}
