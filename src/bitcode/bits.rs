//! Fields of a number of bits, least significant bit first: what a bitstream is made of.

use std::fmt;

/// Widest field a bitstream may hold, in bits: LLVM's reader works in words of this size and refuses wider ones.
pub(super) const MAX_WIDTH: u32 = 64;

/// Bytes that are no bitstream, or hold something this version cannot account for.
///
/// This is no fault of the user and no fault of a host: the job that the bytes belong to runs locally, from the
/// linker's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable {
    /// What was found or missed.
    pub what: &'static str,
    /// Where, in bits from the start of the bytes.
    pub at_bit: u64,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} (bit {})", self.what, self.at_bit / 8, self.at_bit)
    }
}

impl std::error::Error for Unreadable {}

/// A place in a bitstream, and an end that no field may cross.
#[derive(Clone)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: u64,
    end: u64,
}

impl<'a> Bits<'a> {
    /// Bits `at..end` of `bytes`; an end beyond the bytes is cut.
    pub(super) fn new(bytes: &'a [u8], at: u64, end: u64) -> Self {
        let held = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_mul(8);
        Self { bytes, at, end: end.min(held) }
    }

    /// The place of the next field, in bits from the start of the bytes.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    pub(super) fn remaining(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    pub(super) fn unreadable(&self, what: &'static str) -> Unreadable {
        Unreadable { what, at_bit: self.at }
    }

    /// Passes over `count` bits.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), Unreadable> {
        match self.at.checked_add(count) {
            Some(next) if next <= self.end => {
                self.at = next;
                Ok(())
            }
            _ => Err(self.unreadable("a field reaches beyond its block")),
        }
    }

    /// The next field of `width` bits.
    pub(super) fn fixed(&mut self, width: u32) -> Result<u64, Unreadable> {
        debug_assert!(width <= MAX_WIDTH, "abbreviations with wider fields are refused when they are defined");
        let at = self.at;
        self.skip(u64::from(width))?;
        let tail = usize::try_from(at / 8).ok().and_then(|byte| self.bytes.get(byte..)).unwrap_or_default();
        // Sixteen bytes always hold a field of 64 bits, wherever in a byte it begins.
        let window = tail.first_chunk().copied().unwrap_or_else(|| {
            let mut padded = [0; 16];
            padded.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
            padded
        });
        let field = u128::from_le_bytes(window) >> (at % 8);
        Ok((field & ((1 << width) - 1)) as u64)
    }

    /// A number in chunks of `width` bits, the top bit of each telling whether another follows.
    pub(super) fn vbr(&mut self, width: u32) -> Result<u64, Unreadable> {
        let payload = width.saturating_sub(1);
        if payload == 0 {
            return Err(self.unreadable("a variable-width field whose chunks carry nothing"));
        }
        let more = 1u64 << payload;
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let chunk = self.fixed(width)?;
            let part = chunk & (more - 1);
            let placed = part.checked_shl(shift).filter(|placed| placed >> shift == part);
            value |= placed.ok_or_else(|| self.unreadable("a number wider than 64 bits"))?;
            if chunk & more == 0 {
                return Ok(value);
            }
            shift = shift.saturating_add(payload);
        }
    }

    /// Goes to the next multiple of 32 bits.
    pub(super) fn align(&mut self) -> Result<(), Unreadable> {
        self.skip(self.at.wrapping_neg() % 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cross_bytes_and_stop_at_the_end() {
        let bytes: Vec<u8> = (1..=24).collect();
        let mut bits = Bits::new(&bytes, 0, u64::MAX);
        assert_eq!(bits.fixed(4), Ok(1));
        assert_eq!(bits.fixed(64), Ok(0x9080_7060_5040_3020));
        assert_eq!(bits.fixed(0), Ok(0));
        bits.skip(24 * 8 - 68 - 3).unwrap();
        assert_eq!(bits.fixed(3), Ok(0));
        assert_eq!(bits.fixed(1), Err(Unreadable { what: "a field reaches beyond its block", at_bit: 192 }));
    }

    #[test]
    fn numbers_of_chunks() {
        // 6-bit chunks: 0b1_00001, 0b0_00010 = 1 + (2 << 5).
        let bytes = [0b10_100001, 0b0000_0000];
        assert_eq!(Bits::new(&bytes, 0, 16).vbr(6), Ok(65));
        assert!(Bits::new(&[0xff; 64], 0, 512).vbr(6).is_err(), "all chunks say that another follows");
        assert!(Bits::new(&[0xff; 64], 0, 512).vbr(1).is_err());
        assert!(Bits::new(&[0xff; 64], 0, 512).vbr(0).is_err());
    }
}
