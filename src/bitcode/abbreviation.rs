//! Abbreviations: the shapes that a block defines for its records, and how a value of each shape is read.

use super::bits::{Bits, MAX_WIDTH, Unreadable};

/// Operands of one abbreviation. LLVM's longest has about a dozen.
const MAX_ABBREVIATION_OPERANDS: u64 = 64;

const CHAR6: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

/// One operand of an abbreviation that stands for one value.
#[derive(Clone, Copy)]
pub(super) enum Scalar {
    Literal(u64),
    Fixed(u32),
    Vbr(u32),
    Char6,
}

/// What may end an abbreviation.
pub(super) enum Tail {
    Array(Scalar),
    Blob,
}

/// The shape of a record: its code, the values that follow, and perhaps a run of any length.
pub(super) struct Abbreviation {
    pub(super) code: Scalar,
    pub(super) operands: Vec<Scalar>,
    pub(super) tail: Option<Tail>,
}

impl Scalar {
    /// The fewest bits that one value takes.
    pub(super) fn least_width(self) -> u32 {
        match self {
            Self::Literal(_) => 0,
            Self::Fixed(width) | Self::Vbr(width) => width,
            Self::Char6 => 6,
        }
    }

    /// Reads one value.
    pub(super) fn read(self, bits: &mut Bits<'_>) -> Result<u64, Unreadable> {
        match self {
            Self::Literal(value) => Ok(value),
            Self::Fixed(width) => bits.fixed(width),
            Self::Vbr(width) => bits.vbr(width),
            Self::Char6 => {
                let index = bits.fixed(6)? as usize;
                CHAR6
                    .get(index)
                    .map(|byte| u64::from(*byte))
                    .ok_or_else(|| bits.unreadable("a character beyond six bits"))
            }
        }
    }
}

impl Abbreviation {
    /// Reads a definition, behind its DEFINE_ABBREV.
    pub(super) fn define(bits: &mut Bits<'_>) -> Result<Self, Unreadable> {
        let count = bits.vbr(5)?;
        if count > MAX_ABBREVIATION_OPERANDS {
            return Err(bits.unreadable("an abbreviation with too many operands"));
        }
        let operands = (0..count).map(|_| operand(bits)).collect::<Result<Vec<_>, _>>()?;
        let (scalars, tail) = match operands.as_slice() {
            // Its length would cost nothing to write and much to read. LLVM has no such array either.
            [.., Operand::Array, Operand::Scalar(element)] if element.least_width() == 0 => {
                return Err(bits.unreadable("an array of elements that take no bits"));
            }
            [head @ .., Operand::Array, Operand::Scalar(element)] => (head, Some(Tail::Array(*element))),
            [head @ .., Operand::Blob] => (head, Some(Tail::Blob)),
            all => (all, None),
        };
        let mut scalars = scalars.iter().map(|operand| match operand {
            Operand::Scalar(scalar) => Ok(*scalar),
            Operand::Array | Operand::Blob => {
                Err(bits.unreadable("an array or blob that does not end its abbreviation"))
            }
        });
        let code = scalars.next().unwrap_or_else(|| Err(bits.unreadable("an abbreviation without a record code")))?;
        Ok(Self { code, operands: scalars.collect::<Result<_, _>>()?, tail })
    }
}

/// One operand as an abbreviation's definition writes it.
enum Operand {
    Scalar(Scalar),
    Array,
    Blob,
}

fn operand(bits: &mut Bits<'_>) -> Result<Operand, Unreadable> {
    if bits.fixed(1)? == 1 {
        return Ok(Operand::Scalar(Scalar::Literal(bits.vbr(8)?)));
    }
    let encoding = bits.fixed(3)?;
    let scalar = match encoding {
        1 | 2 => match (encoding, width(bits)?) {
            // Fields of no bits are zeroes, as LLVM reads them.
            (_, 0) => Scalar::Literal(0),
            (1, width) => Scalar::Fixed(width),
            (_, 1) => return Err(bits.unreadable("a variable-width field whose chunks carry nothing")),
            (_, width) => Scalar::Vbr(width),
        },
        3 => return Ok(Operand::Array),
        4 => Scalar::Char6,
        5 => return Ok(Operand::Blob),
        _ => return Err(bits.unreadable("an encoding that no LLVM defines")),
    };
    Ok(Operand::Scalar(scalar))
}

fn width(bits: &mut Bits<'_>) -> Result<u32, Unreadable> {
    let width = bits.vbr(5)?;
    match u32::try_from(width) {
        Ok(width) if width <= MAX_WIDTH => Ok(width),
        _ => Err(bits.unreadable("a field wider than 64 bits")),
    }
}
