//! The summaries of a shard: what its modules define.

use std::collections::HashMap;

use super::bits::Unreadable;
use super::stream::{BlockReader, Entry};

// Numbers of records in a block of summaries: llvm/Bitcode/LLVMBitCodes.h.
const COMBINED: u64 = 4;
const COMBINED_PROFILE: u64 = 5;
const COMBINED_GLOBALVAR_INIT_REFS: u64 = 6;
const COMBINED_ALIAS: u64 = 8;
const SUMMARY_VERSION: u64 = 10;
const VALUE_GUID: u64 = 16;
const FLAGS: u64 = 20;

/// Bit of the index flags: definitions that nothing needs were marked, so the live bits mean something.
const DEAD_STRIPPED: u64 = 1;
/// Fields of a summary's flags: linkage in the four low bits, then NotEligibleToImport, Live, DSOLocal, CanAutoHide.
const LINKAGE_MASK: u64 = 0xf;
const LIVE: u64 = 1 << 5;
/// Flags of a variable: MaybeReadOnly and MaybeWriteOnly; in what the thin link writes, "maybe" is settled.
const READ_ONLY_OR_WRITE_ONLY: u64 = 0b11;

/// How a definition meets others of its name; LLVM's linkage types with their raw numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "LLVM's own names")]
pub enum Linkage {
    External = 0,
    AvailableExternally = 1,
    LinkOnceAny = 2,
    LinkOnceOdr = 3,
    WeakAny = 4,
    WeakOdr = 5,
    Appending = 6,
    Internal = 7,
    Private = 8,
    ExternalWeak = 9,
    Common = 10,
}

impl Linkage {
    fn from_raw(raw: u64) -> Option<Self> {
        Some(match raw {
            0 => Self::External,
            1 => Self::AvailableExternally,
            2 => Self::LinkOnceAny,
            3 => Self::LinkOnceOdr,
            4 => Self::WeakAny,
            5 => Self::WeakOdr,
            6 => Self::Appending,
            7 => Self::Internal,
            8 => Self::Private,
            9 => Self::ExternalWeak,
            10 => Self::Common,
            _ => return None,
        })
    }
}

/// What a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A function.
    Function,
    /// A variable.
    Variable {
        /// The whole program only reads it, or only writes it: the backend makes it local, whatever its linkage says.
        internalized: bool,
    },
    /// Another name for a function or variable of the same module.
    Alias {
        /// The GUID of that function or variable.
        of: u64,
    },
}

/// The summary of one definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// The id of the module that holds it.
    pub module: u64,
    /// Its globally unique id, a hash of its name: see [`guid`](super::guid()).
    pub guid: u64,
    /// Its linkage, as the thin link decided it.
    pub linkage: Linkage,
    /// Whether anything needs it.
    pub live: bool,
    /// What it is.
    pub kind: Kind,
}

/// What a block of summaries holds.
pub(super) struct Summaries {
    pub(super) version: u64,
    pub(super) definitions: Vec<Definition>,
}

/// A summary before its value ids were looked up.
struct Raw {
    value: u64,
    module: u64,
    flags: u64,
    kind: RawKind,
    at: Unreadable,
}

enum RawKind {
    Function,
    Variable { flags: u64 },
    Alias { of: u64 },
}

pub(super) fn read_summaries(mut reader: BlockReader<'_, '_>) -> Result<Summaries, Unreadable> {
    let (mut version, mut index_flags) = (0, 0);
    let mut guids = HashMap::new();
    let mut raw = Vec::new();
    while let Some(entry) = reader.next()? {
        // Blocks that later versions may put here tell us nothing we need.
        let Entry::Record(code) = entry else { continue };
        match (code, reader.operands()) {
            (SUMMARY_VERSION, [number, ..]) => version = *number,
            (FLAGS, [flags, ..]) => index_flags = *flags,
            (VALUE_GUID, [value, guid]) => drop(guids.insert(*value, *guid)),
            // Since LLVM 20 as two halves, the upper one first.
            (VALUE_GUID, [value, high, low]) => drop(guids.insert(*value, (high << 32) | (low & 0xffff_ffff))),
            (COMBINED | COMBINED_PROFILE, [value, module, flags, ..]) => {
                raw.push(Raw::new(*value, *module, *flags, RawKind::Function, &reader));
            }
            (COMBINED_GLOBALVAR_INIT_REFS, [value, module, flags, variable, ..]) => {
                raw.push(Raw::new(*value, *module, *flags, RawKind::Variable { flags: *variable }, &reader));
            }
            (COMBINED_ALIAS, [value, module, flags, of, ..]) => {
                raw.push(Raw::new(*value, *module, *flags, RawKind::Alias { of: *of }, &reader));
            }
            (SUMMARY_VERSION | FLAGS | VALUE_GUID | COMBINED..=COMBINED_GLOBALVAR_INIT_REFS | COMBINED_ALIAS, _) => {
                return Err(reader.unreadable("a summary record with too few operands"));
            }
            _ => {}
        }
    }
    let all_live = index_flags & DEAD_STRIPPED == 0;
    let definitions = raw.into_iter().map(|raw| raw.resolved(&guids, all_live)).collect::<Result<_, _>>()?;
    Ok(Summaries { version, definitions })
}

impl Raw {
    fn new(value: u64, module: u64, flags: u64, kind: RawKind, reader: &BlockReader<'_, '_>) -> Self {
        Self { value, module, flags, kind, at: reader.unreadable("a summary that means nothing") }
    }

    fn resolved(self, guids: &HashMap<u64, u64>, all_live: bool) -> Result<Definition, Unreadable> {
        let guid = |value| guids.get(&value).copied().ok_or(self.at);
        Ok(Definition {
            module: self.module,
            guid: guid(self.value)?,
            linkage: Linkage::from_raw(self.flags & LINKAGE_MASK).ok_or(self.at)?,
            live: all_live || self.flags & LIVE != 0,
            kind: match self.kind {
                RawKind::Function => Kind::Function,
                RawKind::Variable { flags } => Kind::Variable { internalized: flags & READ_ONLY_OR_WRITE_ONLY != 0 },
                RawKind::Alias { of } => Kind::Alias { of: guid(of)? },
            },
        })
    }
}
