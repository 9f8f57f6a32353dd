//! The summary index shard of one backend job: its module table and the summaries of what the modules define.
//!
//! As LLVM 21 to 23 write it, a shard is `MODULE_BLOCK { VERSION, MODULE_STRTAB { ENTRY [id, path], HASH [5] … },
//! GLOBALVAL_SUMMARY { VERSION, FLAGS, VALUE_GUID …, summaries } }, STRTAB`. Blocks and records beside these may come
//! before, between and after; they are passed over here and kept by [`Shard::rewrite`].

use std::collections::HashSet;

use super::bits::Unreadable;
use super::stream::{Block, BlockReader, Entry, Stream};
use super::summary::{Definition, Summaries, read_summaries};

// Numbers of blocks and records: llvm/Bitcode/LLVMBitCodes.h.
pub(super) const MODULE_BLOCK: u64 = 8;
const MODULE_STRTAB_BLOCK: u64 = 19;
const GLOBALVAL_SUMMARY_BLOCK: u64 = 20;
const STRTAB_BLOCK: u64 = 23;
/// MODULE_BLOCK: where the value symbol table stands, in words from the start.
const VSTOFFSET: u64 = 13;
/// MODULE_STRTAB: a module's id and path.
pub(super) const ENTRY: u64 = 1;
/// MODULE_STRTAB: the hash of the module before it.
pub(super) const HASH: u64 = 2;

/// Modules that one table may name. Chromium, about the largest program there is, links some 60000 objects.
const MAX_MODULES: usize = 1 << 20;
/// Longest path of a module, in bytes: what Windows allows; Linux allows 4096.
const MAX_PATH: usize = 32 << 10;

/// A module's hash: SHA-1 of its bitcode as five words. Promoted local symbols carry the first two in their names.
pub type ModuleHash = [u32; 5];

/// One entry of a module table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The number by which summaries refer to the module.
    pub id: u64,
    /// The module's path, as it is recorded: see [`resolve()`](super::resolve()) for what that may be.
    pub path: Vec<u8>,
    /// The hash, where the module has one.
    pub hash: Option<ModuleHash>,
}

/// A shard that was read.
#[derive(Debug, Clone)]
pub struct Shard {
    bytes: Vec<u8>,
    pub(super) module_block: Block,
    pub(super) table: Block,
    /// Why the table cannot be moved, if it cannot.
    pub(super) fixed_places: Option<Unreadable>,
    modules: Vec<Module>,
    summary_version: u64,
    definitions: Vec<Definition>,
}

impl Shard {
    /// Reads a whole shard.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] when the bytes are no shard, are cut short, or hold what this version cannot account for.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unreadable> {
        if bytes.is_empty() {
            return Err(Unreadable { what: "an empty shard", at_bit: 0 });
        }
        let mut stream = Stream::new(bytes)?;
        let (mut module_block, mut complete) = (None, false);
        while let Some(block) = stream.next_block()? {
            match block.id {
                MODULE_BLOCK if module_block.is_some() => return Err(at_block(&block, "a second module block")),
                MODULE_BLOCK => module_block = Some(block),
                STRTAB_BLOCK => complete = true,
                _ => {}
            }
        }
        let module_block = module_block.ok_or(Unreadable { what: "no module block", at_bit: 0 })?;
        if !bytes.starts_with(b"BC") {
            return Err(at_block(&module_block, "a shard in a wrapper"));
        }
        // Every writer ends with it, and without it the names of type ids are lost: the shard was cut there.
        if !complete {
            return Err(at_block(&module_block, "no string table"));
        }

        let mut found = Found::default();
        let mut reader = stream.open(&module_block);
        while let Some(entry) = reader.next()? {
            match entry {
                Entry::Record(VSTOFFSET) => {
                    found.fixed_places = Some(reader.unreadable("the place of a symbol table"));
                }
                Entry::Record(_) => {}
                Entry::Block(block) if block.id == MODULE_STRTAB_BLOCK => {
                    if found.table.replace(block).is_some() {
                        return Err(at_block(&block, "a second module table"));
                    }
                    found.modules = read_table(reader.open(&block))?;
                }
                Entry::Block(block) if block.id == GLOBALVAL_SUMMARY_BLOCK => {
                    if found.summaries.replace(read_summaries(reader.open(&block))?).is_some() {
                        return Err(at_block(&block, "a second block of summaries"));
                    }
                }
                Entry::Block(_) => {}
            }
        }
        found.into_shard(bytes, module_block)
    }

    /// The module table: the job's own module and those it imports from, in the order of the table.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// What the shard says of the definitions of one module: all of the job's own, and those it imports of others.
    pub fn definitions(&self, module: u64) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(move |definition| definition.module == module)
    }

    /// The version of the summaries' layout: 12 with LLVM 22.
    pub fn summary_version(&self) -> u64 {
        self.summary_version
    }

    /// The bytes that were read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What a shard's module block held.
#[derive(Default)]
struct Found {
    table: Option<Block>,
    fixed_places: Option<Unreadable>,
    modules: Vec<Module>,
    summaries: Option<Summaries>,
}

impl Found {
    fn into_shard(self, bytes: &[u8], module_block: Block) -> Result<Shard, Unreadable> {
        let table = self.table.ok_or_else(|| at_block(&module_block, "no module table"))?;
        let summaries = self.summaries.ok_or_else(|| at_block(&module_block, "no summaries"))?;
        let known: HashSet<u64> = self.modules.iter().map(|module| module.id).collect();
        if summaries.definitions.iter().any(|definition| !known.contains(&definition.module)) {
            return Err(at_block(&module_block, "a summary of a module that the table does not name"));
        }
        Ok(Shard {
            bytes: bytes.to_vec(),
            module_block,
            table,
            fixed_places: self.fixed_places,
            modules: self.modules,
            summary_version: summaries.version,
            definitions: summaries.definitions,
        })
    }
}

fn at_block(block: &Block, what: &'static str) -> Unreadable {
    Unreadable { what, at_bit: (block.length_at as u64).saturating_mul(8) }
}

fn read_table(mut reader: BlockReader<'_, '_>) -> Result<Vec<Module>, Unreadable> {
    let mut modules: Vec<Module> = Vec::new();
    let mut ids = HashSet::new();
    while let Some(entry) = reader.next()? {
        match entry {
            Entry::Record(ENTRY) => {
                let module = table_entry(&reader)?;
                if modules.len() >= MAX_MODULES || !ids.insert(module.id) {
                    return Err(reader.unreadable("a module id for the second time, or too many modules"));
                }
                modules.push(module);
            }
            Entry::Record(HASH) => {
                let hash = hash_words(reader.whole_operands()?);
                let hash = hash.ok_or_else(|| reader.unreadable("a hash that is not five words"))?;
                match modules.last_mut() {
                    Some(Module { hash: free @ None, .. }) => *free = Some(hash),
                    _ => return Err(reader.unreadable("a hash that belongs to no module")),
                }
            }
            // Anything else could not be written again faithfully.
            Entry::Record(_) | Entry::Block(_) => {
                return Err(reader.unreadable("something in the module table that this version does not know"));
            }
        }
    }
    Ok(modules)
}

fn table_entry(reader: &BlockReader<'_, '_>) -> Result<Module, Unreadable> {
    let [id, path @ ..] = reader.whole_operands()? else {
        return Err(reader.unreadable("a module without an id"));
    };
    if path.is_empty() || path.len() > MAX_PATH {
        return Err(reader.unreadable("a module path of no usable length"));
    }
    let path: Result<Vec<u8>, _> = path.iter().map(|byte| u8::try_from(*byte)).collect();
    let path = path.map_err(|_| reader.unreadable("a module path that is not made of bytes"))?;
    Ok(Module { id: *id, path, hash: None })
}

/// The five words of a hash.
pub(super) fn hash_words(operands: &[u64]) -> Option<ModuleHash> {
    let words: Vec<u32> = operands.iter().map(|word| u32::try_from(*word)).collect::<Result<_, _>>().ok()?;
    words.try_into().ok()
}
