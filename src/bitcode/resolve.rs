//! Which input file each entry of a shard's module table means.
//!
//! Normally the recorded path is the input's, byte for byte. But the writer of LLVM 21 and 22 takes the bytes of a path
//! for signed: each byte from 0x80 up is written with its sign, and the excess ones are OR-ed over whatever follows,
//! up to the end of a 32-bit word of the bitstream. So behind the first such byte any bit of the path, and behind the
//! path's end any of the first 32 bits of the module's *hash*, may be a one where it should be a zero; how many depends
//! on where in its word the byte happens to stand. Lengths, order and everything else stay right.
//!
//! A damaged name is matched by what is left of it: its length, its undamaged beginning, the ones of its later bytes, and
//! its place, since the entries stand in byte order of the true paths. A hash is taken from the module itself: the names
//! of promoted local symbols are made of it, and jobs that saw different damage would not agree on them.

use std::fmt;

use super::bits::Unreadable;
use super::mapping::Mapping;
use super::shard::{Module, ModuleHash, Shard};

/// How the linker's names for shards end. A shard is an input of its job as the modules are.
const SHARD_SUFFIX: &[u8] = b".thinlto.bc";

/// A shard that does not fit its job's inputs. Compiled like this, clang would leave a wrong or empty object and say
/// nothing; the job cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The table does not name the module that the job compiles.
    OwnModuleMissing {
        /// The path of the job's module.
        own: Vec<u8>,
    },
    /// The table names a module that is not among the job's inputs.
    NotAnInput {
        /// The path as it is recorded.
        recorded: Vec<u8>,
    },
    /// The table's names are damaged in a way that leaves more than one meaning, or none.
    Ambiguous,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnModuleMissing { own } => {
                write!(f, "the summary index does not name the job's own module '{}'", own.escape_ascii())
            }
            Self::NotAnInput { recorded } => {
                write!(f, "the summary index names '{}', which is not among the job's inputs", recorded.escape_ascii())
            }
            Self::Ambiguous => write!(
                f,
                "the summary index names modules in a way that fits the job's inputs in more than one way; \
                 rename the object files to ASCII names"
            ),
        }
    }
}

impl std::error::Error for Mismatch {}

/// Why a shard could not be written with a link's short names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmapped {
    /// The mapping was made without this path.
    Path(Vec<u8>),
    /// The shard's table cannot be moved.
    Shard(Unreadable),
}

impl fmt::Display for Unmapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "'{}' has no short name in this link", path.escape_ascii()),
            Self::Shard(unreadable) => unreadable.fmt(f),
        }
    }
}

impl std::error::Error for Unmapped {}

/// A shard's module table with the true paths and hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    modules: Vec<Module>,
    own: u64,
    damaged: bool,
}

impl Resolved {
    /// The true table, in the shard's order.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// The id of the job's own module.
    pub fn own(&self) -> u64 {
        self.own
    }

    /// Whether the shard says something else: clang must not be given it as it is.
    pub fn damaged(&self) -> bool {
        self.damaged
    }

    /// The shard with its true table, for a job that is compiled from the linker's own files.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] when the table cannot be moved.
    pub fn repair(&self, shard: &Shard) -> Result<Vec<u8>, Unreadable> {
        shard.rewrite(&self.modules)
    }

    /// The shard with a link's short names in place of paths.
    ///
    /// # Errors
    ///
    /// [`Unmapped`] when a path has no name in the mapping, or the table cannot be moved.
    pub fn rename(&self, shard: &Shard, mapping: &Mapping) -> Result<Vec<u8>, Unmapped> {
        let renamed = |module: &Module| match mapping.name(&module.path) {
            Some(name) => Ok(Module { path: name.into_bytes(), ..module.clone() }),
            None => Err(Unmapped::Path(module.path.clone())),
        };
        let modules: Vec<Module> = self.modules.iter().map(renamed).collect::<Result<_, _>>()?;
        shard.rewrite(&modules).map_err(Unmapped::Shard)
    }
}

/// Finds the input that each entry of the shard's table means.
///
/// `own` is the path of the module that the job compiles; `inputs` are the paths it may read, in any order, with or
/// without `own` and the shard itself. `hash` gives the hash that a module's bitcode holds
/// ([`module::hash`](super::module::hash)); it is asked only for paths that are not ASCII.
///
/// # Errors
///
/// [`Mismatch`] when the own module is missing, an entry is none of the inputs, or damage leaves a choice.
pub fn resolve(
    shard: &Shard,
    inputs: &[&[u8]],
    own: &[u8],
    hash: impl Fn(&[u8]) -> Option<ModuleHash>,
) -> Result<Resolved, Mismatch> {
    let entries = shard.modules();
    let mut inputs = inputs.to_vec();
    inputs.push(own);
    inputs.sort_unstable();
    inputs.dedup();
    let paths = match_entries(entries, &inputs, own).ok_or_else(|| mismatch(entries, &inputs, own))?;

    let truth = |(entry, path): (&Module, &&[u8])| Module {
        id: entry.id,
        path: path.to_vec(),
        hash: if path.is_ascii() { entry.hash } else { hash(path).or(entry.hash) },
    };
    let modules: Vec<Module> = entries.iter().zip(&paths).map(truth).collect();
    let own = modules.iter().find(|module| module.path == own).map(|module| module.id).ok_or(Mismatch::Ambiguous)?;
    Ok(Resolved { damaged: modules != entries, modules, own })
}

/// The path of each entry, if the evidence leaves just one choice.
fn match_entries<'a>(entries: &[Module], inputs: &[&'a [u8]], own: &[u8]) -> Option<Vec<&'a [u8]>> {
    let without_shards: Vec<&[u8]> =
        inputs.iter().copied().filter(|path| *path == own || !path.ends_with(SHARD_SUFFIX)).collect();
    in_order(entries, inputs, own, may_record)
        .or_else(|| in_order(entries, &without_shards, own, may_record))
        .or_else(|| in_order(entries, inputs, own, |recorded, path| recorded == path))
        .or_else(|| in_any_order(entries, inputs, own))
}

/// For a linker that should not sort its table: every entry is an input, byte for byte.
fn in_any_order<'a>(entries: &[Module], inputs: &[&'a [u8]], own: &[u8]) -> Option<Vec<&'a [u8]>> {
    let exact =
        |entry: &Module| inputs.binary_search(&entry.path.as_slice()).ok().and_then(|at| inputs.get(at).copied());
    let paths: Vec<&[u8]> = entries.iter().map(exact).collect::<Option<_>>()?;
    let mut distinct = paths.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() == paths.len() && paths.contains(&own)).then_some(paths)
}

/// Matches the entries with inputs of the same order, `own` among them; `None` when that is possible in no way or in
/// more than one.
fn in_order<'a>(
    entries: &[Module],
    inputs: &[&'a [u8]],
    own: &[u8],
    fits: impl Fn(&[u8], &[u8]) -> bool + Copy,
) -> Option<Vec<&'a [u8]>> {
    let own_at = inputs.binary_search(&own).ok()?;
    let (smaller, [own, larger @ ..]) = inputs.split_at_checked(own_at)? else { return None };
    let mut only = None;
    for (at, entry) in entries.iter().enumerate() {
        if !fits(&entry.path, own) {
            continue;
        }
        let (before, [_, after @ ..]) = entries.split_at_checked(at)? else { return None };
        let (Some(before), Some(after)) = (increasing(before, smaller, fits), increasing(after, larger, fits)) else {
            continue;
        };
        let paths = [before.least, vec![*own], after.least].concat();
        if !before.only || !after.only || only.replace(paths).is_some() {
            return None;
        }
    }
    only
}

/// A match of entries with inputs, both in order.
struct Increasing<'a> {
    /// The match that takes the smallest input everywhere.
    least: Vec<&'a [u8]>,
    /// Whether it is the only one: then taking the largest everywhere comes to the same.
    only: bool,
}

fn increasing<'a>(
    entries: &[Module],
    inputs: &[&'a [u8]],
    fits: impl Fn(&[u8], &[u8]) -> bool,
) -> Option<Increasing<'a>> {
    let mut ascending = inputs.iter().copied();
    let least = entries.iter().map(|entry| ascending.find(|path| fits(&entry.path, path)));
    let least: Vec<&[u8]> = least.collect::<Option<_>>()?;
    let mut descending = inputs.iter().rev().copied();
    let greatest = entries.iter().rev().map(|entry| descending.find(|path| fits(&entry.path, path)));
    let greatest: Vec<&[u8]> = greatest.collect::<Option<_>>()?;
    let only = least.iter().eq(greatest.iter().rev());
    Some(Increasing { least, only })
}

/// Whether a writer, damaging or not, may have recorded `path` as `recorded`.
fn may_record(recorded: &[u8], path: &[u8]) -> bool {
    let sound = path.iter().position(|byte| !byte.is_ascii()).map_or(path.len(), |first| first.saturating_add(1));
    recorded.len() == path.len()
        && recorded.iter().zip(path).take(sound).all(|(recorded, true_byte)| recorded == true_byte)
        && recorded.iter().zip(path).all(|(recorded, true_byte)| recorded & true_byte == *true_byte)
}

/// What is wrong, once no match was found.
fn mismatch(entries: &[Module], inputs: &[&[u8]], own: &[u8]) -> Mismatch {
    let stranger = entries.iter().find(|entry| !inputs.iter().any(|path| may_record(&entry.path, path)));
    if !entries.iter().any(|entry| may_record(&entry.path, own)) {
        Mismatch::OwnModuleMissing { own: own.to_vec() }
    } else if let Some(entry) = stranger {
        Mismatch::NotAnInput { recorded: entry.path.clone() }
    } else {
        Mismatch::Ambiguous
    }
}
