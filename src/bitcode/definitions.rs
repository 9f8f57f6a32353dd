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

/// Bytes of names that are hashed for guesses about one object, at most: half a second's work. The names of an object may
/// share the bytes of a string table, so that their number says nothing of what all the guesses cost. Of 11,000 objects of
/// system and Rust libraries none needs more than about half a MiB when every one of its symbols is guessed about.
const MAX_GUESSED_BYTES: usize = 256 << 20;

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
    /// definitions: `main.c` would pass for `main`. The work is bounded: of names that together are too long to guess
    /// about, those that come last count only for what they are.
    pub fn missing<'a>(&self, symbols: impl IntoIterator<Item = &'a [u8]>) -> Vec<u64> {
        self.missing_within(MAX_GUESSED_BYTES, symbols)
    }

    fn missing_within<'a>(&self, mut budget: usize, symbols: impl IntoIterator<Item = &'a [u8]>) -> Vec<u64> {
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
        for name in seen.into_iter().flat_map(origins) {
            if missing.is_empty() {
                return Vec::new();
            }
            let Some(left) = budget.checked_sub(self.hashed(name)) else { break };
            budget = left;
            self.strike_out(&mut missing, name);
        }
        match self.all || missing.len() == self.required.len() {
            true => missing.into_iter().collect(),
            false => Vec::new(),
        }
    }

    /// How many bytes [`Self::strike_out`] hashes.
    fn hashed(&self, name: &[u8]) -> usize {
        let with_file = self.source_file.as_ref().map_or(0, |file| file.len().saturating_add(name.len()));
        name.len().saturating_add(with_file)
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

/// The names that `symbol` may have been made from, itself first.
fn origins(symbol: &[u8]) -> impl Iterator<Item = &[u8]> {
    let unprefixed = PREFIXES.iter().filter_map(move |prefix| symbol.strip_prefix(*prefix));
    std::iter::once(symbol).chain(unprefixed).flat_map(|name| {
        let ends = name.iter().enumerate().rev().filter(|(_, byte)| matches!(byte, b'.' | b'@'));
        let shorter = ends.take(MAX_SUFFIXES).filter_map(|(end, _)| name.get(..end));
        std::iter::once(name).chain(shorter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_stop_when_they_cost_too_much() {
        let definitions =
            Definitions { required: BTreeSet::from([guid(b"wanted")]), source_file: Some(b"a.c".to_vec()), all: true };
        let long = b"a.".repeat(1000);
        let symbols: [&[u8]; 2] = [&long, b"wanted.llvm.1"];
        assert!(definitions.missing(symbols).is_empty());
        // The long name and its sixteen shorter ones come first, each hashed with and without the file's name.
        let first = 17 * (2 * 2000 + 3) - 2 * (1..=16).map(|shorter| 2 * shorter - 1).sum::<usize>();
        let second = [13, 11, 6].map(|length| 2 * length + 3).iter().sum::<usize>();
        assert!(definitions.missing_within(first + second, symbols).is_empty());
        assert_eq!(definitions.missing_within(first + second - 1, symbols), [guid(b"wanted")]);
        // What needs no guess is found whatever the budget.
        assert!(definitions.missing_within(0, [&long, b"wanted".as_slice()]).is_empty());
    }
}
