//! A bitstream writer that works as LLVM's does, in words of 32 bits, faults included.

use crate::bitcode::{Module, ModuleHash};

/// Width of abbreviation ids in the blocks made here. LLVM uses it for module tables: damage makes an id of ones, which is
/// the id of a hash, of what is one.
const WIDTH: u32 = 3;

#[derive(Default)]
pub(super) struct Emitter {
    words: Vec<u32>,
    current: u32,
    bit: u32,
    open: Vec<(usize, u32)>,
    width: u32,
}

impl Emitter {
    /// A stream with its magic number.
    pub(super) fn new() -> Self {
        Self { words: vec![u32::from_le_bytes(*b"BC\xC0\xDE")], width: 2, ..Self::default() }
    }

    /// LLVM's `Emit`. Bits of `value` above `bits` are not cut off: that is the fault of the module table's writer.
    pub(super) fn emit(&mut self, value: u32, bits: u32) {
        self.current |= value << self.bit;
        if self.bit + bits < 32 {
            self.bit += bits;
            return;
        }
        self.words.push(self.current);
        self.current = if self.bit == 0 { 0 } else { value >> (32 - self.bit) };
        self.bit = (self.bit + bits) & 31;
    }

    pub(super) fn vbr(&mut self, mut value: u64, bits: u32) {
        let more = 1 << (bits - 1);
        while value >= more {
            self.emit(((value & (more - 1)) | more) as u32, bits);
            value >>= bits - 1;
        }
        self.emit(value as u32, bits);
    }

    pub(super) fn align(&mut self) {
        if self.bit != 0 {
            self.words.push(self.current);
            (self.current, self.bit) = (0, 0);
        }
    }

    pub(super) fn id(&mut self, id: u32) {
        self.emit(id, self.width);
    }

    pub(super) fn enter(&mut self, block: u64) {
        self.id(1);
        self.vbr(block, 8);
        self.vbr(u64::from(WIDTH), 4);
        self.align();
        self.open.push((self.words.len(), self.width));
        self.words.push(0);
        self.width = WIDTH;
    }

    pub(super) fn end(&mut self) {
        self.id(0);
        self.align();
        let (length_at, width) = self.open.pop().unwrap();
        self.words[length_at] = (self.words.len() - length_at - 1) as u32;
        self.width = width;
    }

    pub(super) fn block(&mut self, block: u64, body: impl FnOnce(&mut Self)) {
        self.enter(block);
        body(self);
        self.end();
    }

    pub(super) fn record(&mut self, code: u64, operands: &[u64]) {
        self.id(3);
        self.vbr(code, 6);
        self.vbr(operands.len() as u64, 6);
        operands.iter().for_each(|operand| self.vbr(*operand, 6));
    }

    /// Defines an abbreviation for ENTRY: a literal code, the id, an array of elements of `encoding` (and width).
    pub(super) fn define_entry(&mut self, encoding: u32, element: Option<u32>) {
        self.id(2);
        self.vbr(4, 5);
        self.literal(1);
        self.encoding(2, Some(8));
        self.encoding(3, None);
        self.encoding(encoding, element);
    }

    /// Defines an abbreviation for HASH: five whole words.
    pub(super) fn define_hash(&mut self) {
        self.id(2);
        self.vbr(6, 5);
        self.literal(2);
        (0..5).for_each(|_| self.encoding(1, Some(32)));
    }

    pub(super) fn literal(&mut self, value: u64) {
        self.emit(1, 1);
        self.vbr(value, 8);
    }

    pub(super) fn encoding(&mut self, encoding: u32, width: Option<u32>) {
        self.emit(0, 1);
        self.emit(encoding, 3);
        if let Some(width) = width {
            self.vbr(u64::from(width), 5);
        }
    }

    /// The module table as LLVM 22 writes it: bytes taken for signed.
    pub(super) fn table(&mut self, modules: &[Module]) {
        self.block(19, |table| {
            table.define_entry(1, Some(8));
            table.define_entry(1, Some(7));
            table.define_entry(4, None);
            table.define_hash();
            for module in modules {
                table.entry(module);
                if let Some(hash) = module.hash {
                    table.id(7);
                    hash.iter().for_each(|word| table.emit(*word, 32));
                }
            }
        });
    }

    fn entry(&mut self, module: &Module) {
        let bits = if module.path.is_ascii() { 7 } else { 8 };
        self.id(if bits == 8 { 4 } else { 5 });
        self.vbr(module.id, 8);
        self.vbr(module.path.len() as u64, 6);
        module.path.iter().for_each(|byte| self.emit(*byte as i8 as u32, bits));
    }

    /// Summaries in which every module defines one live external function, whose GUID is the module's id.
    pub(super) fn summaries(&mut self, modules: &[Module]) {
        self.block(20, |summaries| {
            summaries.record(10, &[12]);
            summaries.record(20, &[1]);
            for module in modules {
                summaries.record(16, &[module.id, 0, module.id]);
                summaries.record(5, &[module.id, module.id, 0x20, 1, 0, 0, 0, 0, 0]);
            }
        });
    }

    /// The table of strings that ends a stream.
    pub(super) fn strtab(&mut self) {
        self.block(23, |strtab| strtab.record(1, &[]));
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        assert!(self.open.is_empty() && self.bit == 0);
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// A plain shard.
pub(super) fn shard(modules: &[Module]) -> Vec<u8> {
    let mut stream = Emitter::new();
    stream.block(8, |module| {
        module.record(1, &[2]);
        module.table(modules);
        module.summaries(modules);
    });
    stream.strtab();
    stream.bytes()
}

/// Modules with these paths, in this order, each with a hash of its own.
pub(super) fn modules(paths: &[&[u8]]) -> Vec<Module> {
    let module = |(id, path): (usize, &&[u8])| Module { id: id as u64, path: path.to_vec(), hash: Some(hash(path)) };
    paths.iter().enumerate().map(module).collect()
}

/// A hash that differs from path to path and has zeroes for damage to fall on.
pub(super) fn hash(path: &[u8]) -> ModuleHash {
    let sum = path.iter().fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    [sum & 0x5a5a_5a50, sum, !sum, 1, 0]
}
