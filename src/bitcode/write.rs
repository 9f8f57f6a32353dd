//! Writing the module table again: the one block of a shard that a rename changes.
//!
//! Blocks begin and end on 32-bit words, so the new table is spliced between what stood before and after it, and two
//! word counts are corrected: the table's own and that of the module block around it.

use super::bits::Unreadable;
use super::shard::{ENTRY, HASH, Module, Shard};

const END_BLOCK: u64 = 0;
const UNABBREVIATED_RECORD: u64 = 3;

impl Shard {
    /// The shard with another module table, everything else bit for bit as it was.
    ///
    /// The summaries go on meaning the modules by their ids, so `modules` has to hold the ids that
    /// [`Shard::modules`] holds; paths and hashes may be any.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] when the shard records places inside itself that would move.
    pub fn rewrite(&self, modules: &[Module]) -> Result<Vec<u8>, Unreadable> {
        if let Some(refusal) = self.fixed_places {
            return Err(refusal);
        }
        let (old, table) = (self.bytes(), &self.table);
        let impossible = |what| Unreadable { what, at_bit: (table.length_at as u64).saturating_mul(8) };
        let (Some(head), Some(tail)) = (old.get(..table.body()), old.get(table.end()..)) else {
            return Err(impossible("a module table outside the shard"));
        };

        let body = table_body(table.id_width, modules);
        let mut new = Vec::with_capacity(head.len() + body.len() + tail.len());
        new.extend_from_slice(head);
        new.extend_from_slice(&body);
        new.extend_from_slice(tail);

        let behind_module = old.len().saturating_sub(self.module_block.end());
        let module_bytes = new.len().saturating_sub(behind_module).saturating_sub(self.module_block.body());
        for (length_at, bytes) in [(table.length_at, body.len()), (self.module_block.length_at, module_bytes)] {
            let words = u32::try_from(bytes / 4).map_err(|_| impossible("a module table too large for a shard"))?;
            match new.get_mut(length_at..).and_then(|rest| rest.first_chunk_mut()) {
                Some(word) => *word = words.to_le_bytes(),
                None => return Err(impossible("a word count outside the shard")),
            }
        }
        Ok(new)
    }
}

/// The body of a module table. Its records use no abbreviations: every reader takes them so, and the few bytes that
/// abbreviations would save are nothing beside the summaries.
fn table_body(id_width: u32, modules: &[Module]) -> Vec<u8> {
    let mut body = Writer::default();
    for module in modules {
        let path = module.path.iter().map(|byte| u64::from(*byte));
        body.record(id_width, ENTRY, std::iter::once(module.id).chain(path));
        if let Some(hash) = &module.hash {
            body.record(id_width, HASH, hash.iter().map(|word| u64::from(*word)));
        }
    }
    body.end_block(id_width)
}

/// A bitstream as it grows.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    /// Bits that do not fill a byte yet, lowest first, and how many there are.
    partial: u128,
    held: u32,
}

impl Writer {
    /// Adds a field of `width` bits, at most 64.
    pub(super) fn fixed(&mut self, value: u64, width: u32) {
        self.partial |= u128::from(value) << self.held;
        self.held += width;
        while self.held >= 8 {
            self.bytes.push(self.partial as u8);
            self.partial >>= 8;
            self.held -= 8;
        }
    }

    /// Adds a number in chunks of `width` bits, which is at least 2.
    pub(super) fn vbr(&mut self, mut value: u64, width: u32) {
        let more = 1 << (width - 1);
        while value >= more {
            self.fixed((value & (more - 1)) | more, width);
            value >>= width - 1;
        }
        self.fixed(value, width);
    }

    /// Adds a record without an abbreviation.
    pub(super) fn record(&mut self, id_width: u32, code: u64, operands: impl Iterator<Item = u64>) {
        let operands: Vec<u64> = operands.collect();
        self.fixed(UNABBREVIATED_RECORD, id_width);
        self.vbr(code, 6);
        self.vbr(operands.len() as u64, 6);
        operands.into_iter().for_each(|operand| self.vbr(operand, 6));
    }

    /// Ends the block; what was written is its body, a whole number of 32-bit words.
    pub(super) fn end_block(mut self, id_width: u32) -> Vec<u8> {
        self.fixed(END_BLOCK, id_width);
        self.align()
    }

    /// Pads with zeroes to a 32-bit word.
    pub(super) fn align(mut self) -> Vec<u8> {
        while self.held != 0 || !self.bytes.len().is_multiple_of(4) {
            self.fixed(0, 8 - self.held);
        }
        self.bytes
    }
}
