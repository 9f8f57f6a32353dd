//! Which symbols the object of a job has to define, and whether it does.
//!
//! clang exits with 0 and leaves an object that is valid and wrong when, say, the module's name is not the one in the
//! shard: everything is gone then, or something else is there. The shard knows better: what it calls external and live,
//! other objects will want. A shard has no names, only GUIDs, so the names in the object are hashed and compared.
//!
//! Names change on the way to an object: local symbols are promoted (`name.llvm.123`), control-flow integrity and others
//! add suffixes, targets and symbol versions decorate. A good object that is refused fails a user's link, so a name
//! counts for everything that it may be made from.

use std::collections::BTreeSet;

use super::guid::{guid, local_guid};
use super::shard::Shard;
use super::summary::{Definition, Kind, Linkage};

/// The newest layout of summaries whose meaning was compared with the objects it leads to (LLVM 22).
const NEWEST_KNOWN_SUMMARY: u64 = 12;

/// Suffixes tried on one symbol, from its end. Names with more dots than this exist (mangled Rust and MSVC names), but
/// what is added at the end of a name adds at most four; a host must not make us hash for ever.
const MAX_SUFFIXES: usize = 16;

/// What targets put before a name: an underscore (COFF on x86, Mach-O), a dot (function entries of 64-bit PowerPC), `@`
/// (fastcall), `#` (Arm64EC), and what emulated thread-local variables are reached by.
const PREFIXES: [&[u8]; 5] = [b"_", b".", b"@", b"#", b"__emutls_v."];

/// The definitions that other objects may rely on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definitions {
    required: BTreeSet<u64>,
    source_file: Option<Vec<u8>>,
    all: bool,
}

impl Definitions {
    /// What the object of module `own` must define.
    ///
    /// `source_file` is the module's [`Facts::source_file`](super::module::Facts::source_file). Without it promoted local
    /// symbols cannot be told from missing ones, and with summaries of a later LLVM than was tried their meaning is not
    /// certain; then one definition that is there is enough.
    pub fn new(shard: &Shard, own: u64, source_file: Option<&[u8]>) -> Self {
        let aliased: BTreeSet<u64> = shard.definitions(own).filter_map(aliasee).collect();
        let required = shard.definitions(own).filter(|definition| is_always_defined(definition, &aliased));
        Self {
            required: required.map(|definition| definition.guid).collect(),
            source_file: source_file.map(<[u8]>::to_vec),
            all: source_file.is_some() && shard.summary_version() <= NEWEST_KNOWN_SUMMARY,
        }
    }

    /// Whether there is nothing that the object must define, so that nothing can be said of it.
    pub fn is_empty(&self) -> bool {
        self.required.is_empty()
    }

    /// The required GUIDs that none of `symbols` defines, in ascending order; empty for a good object.
    ///
    /// `symbols` are the names of the global and weak symbols that the object does not leave undefined, common ones
    /// included, as they stand in its symbol table. The names of files and sections and local symbols are no
    /// definitions: `main.c` would pass for `main`.
    pub fn missing<'a>(&self, symbols: impl IntoIterator<Item = &'a [u8]>) -> Vec<u64> {
        let mut missing = self.required.clone();
        let mut seen = Vec::new();
        for symbol in symbols {
            if missing.is_empty() {
                return Vec::new();
            }
            self.strike_out(&mut missing, symbol);
            seen.push(symbol);
        }
        // Almost always nothing is left by now, and the many guesses are never made.
        for symbol in seen {
            if missing.is_empty() {
                return Vec::new();
            }
            origins(symbol, |name| self.strike_out(&mut missing, name));
        }
        match self.all || missing.len() == self.required.len() {
            true => missing.into_iter().collect(),
            false => Vec::new(),
        }
    }

    fn strike_out(&self, missing: &mut BTreeSet<u64>, name: &[u8]) {
        missing.remove(&guid(name));
        if let Some(file) = &self.source_file {
            missing.remove(&local_guid(file, name));
        }
    }
}

/// Whether code generation must emit the definition, whatever the optimiser makes of it.
///
/// Members of the linkonce, available-externally and local linkages may be dropped, and variables that the program only
/// reads or only writes become local. An alias that can be replaced at link time may be dropped with what it stands for:
/// a constructor's two names share one group, which may be another object's.
fn is_always_defined(definition: &Definition, aliased: &BTreeSet<u64>) -> bool {
    let replaceable = match definition.linkage {
        Linkage::External => false,
        Linkage::WeakAny | Linkage::WeakOdr | Linkage::Common => true,
        _ => return false,
    };
    let in_alias = aliasee(definition).is_some() || aliased.contains(&definition.guid);
    let internalized = definition.kind == Kind::Variable { internalized: true };
    definition.live && !internalized && !(replaceable && in_alias)
}

fn aliasee(definition: &Definition) -> Option<u64> {
    match definition.kind {
        Kind::Alias { of } => Some(of),
        Kind::Function | Kind::Variable { .. } => None,
    }
}

/// Calls `tried` with the names that `symbol` may have been made from.
fn origins(symbol: &[u8], mut tried: impl FnMut(&[u8])) {
    let unprefixed = PREFIXES.iter().filter_map(|prefix| symbol.strip_prefix(*prefix));
    for name in std::iter::once(symbol).chain(unprefixed) {
        tried(name);
        let ends = name.iter().enumerate().rev().filter(|(_, byte)| matches!(byte, b'.' | b'@'));
        for (end, _) in ends.take(MAX_SUFFIXES) {
            if let Some(shorter) = name.get(..end) {
                tried(shorter);
            }
        }
    }
}
