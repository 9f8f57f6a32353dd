//! Blocks, abbreviations and records: the container that LLVM keeps bitcode in.
//!
//! The format is described in LLVM's "LLVM Bitcode File Format". A reader never recurses: a block that nobody opens is
//! passed over by its word count, so nesting costs nothing, however deep.

use std::rc::Rc;

use super::abbreviation::{Abbreviation, Scalar, Tail};
use super::bits::{Bits, Unreadable};

/// `BC C0 DE`: the start of every bitstream that holds LLVM IR.
const MAGIC: [u8; 4] = *b"BC\xC0\xDE";
/// First word of the wrapper that Darwin targets put around bitcode, with the place and size of what is inside.
const WRAPPER_MAGIC: [u8; 4] = 0x0B17_C0DE_u32.to_le_bytes();

/// Operands kept of one record. The longest that matters is a path (LLVM on Windows allows 32768 characters); the rest
/// of a longer record, say a module's inline assembly, is read over and not kept.
const MAX_OPERANDS: usize = 1 << 16;
/// Abbreviations of one block. LLVM defines at most about thirty; a module of nothing but definitions must not make us
/// hold one for every few bits.
const MAX_ABBREVIATIONS: usize = 1 << 10;
/// Kinds of block for which BLOCKINFO may define abbreviations. LLVM has about thirty kinds and does so for five.
const MAX_INFORMED_BLOCKS: usize = 1 << 8;
/// Widest abbreviation id, in bits: LLVM's own cap.
const MAX_ID_WIDTH: u64 = 32;
/// Width of an abbreviation id outside of every block.
const TOP_LEVEL_ID_WIDTH: u32 = 2;

const END_BLOCK: u64 = 0;
const ENTER_SUBBLOCK: u64 = 1;
const DEFINE_ABBREVIATION: u64 = 2;
const UNABBREVIATED_RECORD: u64 = 3;
const FIRST_ABBREVIATION: u64 = 4;

const BLOCKINFO: u64 = 0;
const BLOCKINFO_SET_BLOCK: u64 = 1;

/// Where a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// What kind of block it is.
    pub(super) id: u64,
    /// Bits of an abbreviation id inside it.
    pub(super) id_width: u32,
    /// Byte offset of the word that counts the 32-bit words of its body; the body follows.
    pub(super) length_at: usize,
    /// First bit after the block.
    end: u64,
}

impl Block {
    /// Byte offset of the body.
    pub(super) fn body(&self) -> usize {
        self.length_at.saturating_add(4)
    }

    /// Byte offset of what follows the block.
    pub(super) fn end(&self) -> usize {
        usize::try_from(self.end / 8).unwrap_or(usize::MAX)
    }
}

/// What stands next in a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A record of this code; its operands are in [`BlockReader::operands`].
    Record(u64),
    /// A block, already passed over. [`BlockReader::open`] reads it.
    Block(Block),
}

/// A bitstream from its magic number on.
pub(super) struct Stream<'a> {
    bits: Bits<'a>,
    bytes: &'a [u8],
    /// Abbreviations that BLOCKINFO defined, by kind of block.
    informed: Vec<(u64, Vec<Rc<Abbreviation>>)>,
    operands: Vec<u64>,
    truncated: bool,
}

impl<'a> Stream<'a> {
    /// Begins to read; looks into a wrapper where there is one.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let inner = if bytes.starts_with(&WRAPPER_MAGIC) { unwrap_darwin(bytes)? } else { bytes };
        if !inner.starts_with(&MAGIC) {
            return Err(Unreadable { what: "no bitcode magic number", at_bit: 0 });
        }
        Ok(Self {
            bits: Bits::new(inner, 32, u64::MAX),
            bytes: inner,
            informed: Vec::new(),
            operands: Vec::new(),
            truncated: false,
        })
    }

    /// The next block at top level, already passed over; `None` at the end of the bytes.
    pub(super) fn next_block(&mut self) -> Result<Option<Block>, Unreadable> {
        if self.bits.remaining() == 0 {
            return Ok(None);
        }
        if self.bits.fixed(TOP_LEVEL_ID_WIDTH)? != ENTER_SUBBLOCK {
            return Err(self.bits.unreadable("something else than a block at top level"));
        }
        enter(&mut self.bits).map(Some)
    }

    /// Reads what is in a block of this stream.
    pub(super) fn open(&mut self, block: &Block) -> BlockReader<'a, '_> {
        let abbreviations = self.informed.iter().find(|(id, _)| *id == block.id);
        BlockReader {
            bits: Bits::new(self.bytes, (block.body() as u64).saturating_mul(8), block.end),
            id_width: block.id_width,
            abbreviations: abbreviations.map(|(_, known)| known.clone()).unwrap_or_default(),
            stream: self,
        }
    }

    fn inform(&mut self, id: u64, abbreviation: Rc<Abbreviation>, at: &Bits<'_>) -> Result<(), Unreadable> {
        let known = match self.informed.iter().position(|(known, _)| *known == id) {
            Some(known) => known,
            None if self.informed.len() < MAX_INFORMED_BLOCKS => {
                self.informed.push((id, Vec::new()));
                self.informed.len() - 1
            }
            None => return Err(at.unreadable("abbreviations for too many kinds of block")),
        };
        match self.informed.get_mut(known) {
            Some((_, list)) => define(list, abbreviation, at),
            None => Ok(()),
        }
    }
}

/// Reads the entries of one block, in order.
pub(super) struct BlockReader<'a, 's> {
    bits: Bits<'a>,
    id_width: u32,
    abbreviations: Vec<Rc<Abbreviation>>,
    stream: &'s mut Stream<'a>,
}

impl<'a> BlockReader<'a, '_> {
    /// The next record or block; `None` when the block ends, which it must do just where its word count says.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, Unreadable> {
        loop {
            match self.bits.fixed(self.id_width)? {
                END_BLOCK => {
                    self.bits.align()?;
                    return match self.bits.remaining() {
                        0 => Ok(None),
                        _ => Err(self.bits.unreadable("a block ends before its word count says so")),
                    };
                }
                ENTER_SUBBLOCK => {
                    let block = enter(&mut self.bits)?;
                    if block.id == BLOCKINFO {
                        self.open(&block).read_blockinfo()?;
                    } else {
                        return Ok(Some(Entry::Block(block)));
                    }
                }
                DEFINE_ABBREVIATION => {
                    let abbreviation = Rc::new(Abbreviation::define(&mut self.bits)?);
                    define(&mut self.abbreviations, abbreviation, &self.bits)?;
                }
                id => return self.record(id).map(|code| Some(Entry::Record(code))),
            }
        }
    }

    /// Reads a block that [`BlockReader::next`] returned.
    pub(super) fn open(&mut self, block: &Block) -> BlockReader<'a, '_> {
        self.stream.open(block)
    }

    /// The operands of the last record. A blob is none of them.
    pub(super) fn operands(&self) -> &[u64] {
        &self.stream.operands
    }

    /// The operands of the last record, which must all be there.
    pub(super) fn whole_operands(&self) -> Result<&[u64], Unreadable> {
        match self.stream.truncated {
            false => Ok(&self.stream.operands),
            true => Err(self.unreadable("a record with too many operands")),
        }
    }

    pub(super) fn unreadable(&self, what: &'static str) -> Unreadable {
        self.bits.unreadable(what)
    }

    /// BLOCKINFO defines abbreviations that hold in every later block of a kind.
    fn read_blockinfo(mut self) -> Result<(), Unreadable> {
        let mut subject = None;
        loop {
            match self.bits.fixed(self.id_width)? {
                END_BLOCK => return Ok(()),
                ENTER_SUBBLOCK => drop(enter(&mut self.bits)?),
                DEFINE_ABBREVIATION => {
                    let abbreviation = Rc::new(Abbreviation::define(&mut self.bits)?);
                    let id = subject.ok_or_else(|| self.unreadable("an abbreviation for no kind of block"))?;
                    self.stream.inform(id, abbreviation, &self.bits)?;
                }
                id => {
                    if self.record(id)? == BLOCKINFO_SET_BLOCK {
                        subject = self.operands().first().copied();
                    }
                }
            }
        }
    }

    /// Reads the record that begins with abbreviation id `id`; returns its code.
    fn record(&mut self, id: u64) -> Result<u64, Unreadable> {
        self.stream.operands.clear();
        self.stream.truncated = false;
        if id == UNABBREVIATED_RECORD {
            let code = self.bits.vbr(6)?;
            let count = self.bits.vbr(6)?;
            self.run(Scalar::Vbr(6), count)?;
            return Ok(code);
        }
        let known = id.checked_sub(FIRST_ABBREVIATION).and_then(|index| usize::try_from(index).ok());
        let abbreviation = known.and_then(|index| self.abbreviations.get(index)).cloned();
        let abbreviation = abbreviation.ok_or_else(|| self.unreadable("an abbreviation that was never defined"))?;
        let code = abbreviation.code.read(&mut self.bits)?;
        for operand in &abbreviation.operands {
            self.run(*operand, 1)?;
        }
        match abbreviation.tail {
            None => {}
            Some(Tail::Array(element)) => {
                let count = self.bits.vbr(6)?;
                self.run(element, count)?;
            }
            Some(Tail::Blob) => {
                let bytes = self.bits.vbr(6)?;
                self.bits.align()?;
                self.bits.skip(bytes.saturating_mul(8))?;
                self.bits.align()?;
            }
        }
        Ok(code)
    }

    /// Reads `count` values of one encoding and keeps as many as the cap allows.
    fn run(&mut self, encoding: Scalar, count: u64) -> Result<(), Unreadable> {
        // Only what may be repeated takes bits, so that this bounds the count.
        if count.saturating_mul(u64::from(encoding.least_width())) > self.bits.remaining() {
            return Err(self.unreadable("a record longer than its block"));
        }
        for _ in 0..count {
            let value = encoding.read(&mut self.bits)?;
            if self.stream.operands.len() < MAX_OPERANDS {
                self.stream.operands.push(value);
            } else {
                self.stream.truncated = true;
            }
        }
        Ok(())
    }
}

/// Where the bitstream inside a wrapper stands: the wrapper's third and fourth words are its offset and its size.
fn unwrap_darwin(bytes: &[u8]) -> Result<&[u8], Unreadable> {
    let word = |index: usize| -> Option<usize> {
        let word = bytes.get(index * 4..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*word)).ok()
    };
    let inner = || bytes.get(word(2)?..)?.get(..word(3)?);
    inner().ok_or(Unreadable { what: "a bitcode wrapper that holds less than it says", at_bit: 64 })
}

/// Reads a block's head, behind its ENTER_SUBBLOCK, and passes over its body.
fn enter(bits: &mut Bits<'_>) -> Result<Block, Unreadable> {
    let id = bits.vbr(8)?;
    let id_width = bits.vbr(4)?;
    let id_width = match u32::try_from(id_width) {
        Ok(width) if (1..=MAX_ID_WIDTH).contains(&id_width) => width,
        _ => return Err(bits.unreadable("abbreviation ids of no usable width")),
    };
    bits.align()?;
    let length_at = usize::try_from(bits.position() / 8).map_err(|_| bits.unreadable("a stream too large"))?;
    let words = bits.fixed(32)?;
    bits.skip(words * 32)?;
    Ok(Block { id, id_width, length_at, end: bits.position() })
}

fn define(list: &mut Vec<Rc<Abbreviation>>, abbreviation: Rc<Abbreviation>, at: &Bits<'_>) -> Result<(), Unreadable> {
    if list.len() >= MAX_ABBREVIATIONS {
        return Err(at.unreadable("too many abbreviations in one block"));
    }
    list.push(abbreviation);
    Ok(())
}
