//! Is this object the one its job asked for?
//!
//! The last line of defence of a link: clang exits 0 after a ThinLTO backend failure, and lld skips an empty object
//! without a word, so a wrong object would become a wrong program. Remote and local results go through the same
//! checks. Bytes in, verdict out; whoever ran the compiler has checked its wait status.
//!
//! In this order: no backend failure on stderr, the machine of the target triple, a whole file (every part of it
//! inside, none over another, nothing behind the last), consistent tables, the module's own source name, and at last
//! every symbol that the summary shard says this module defines.

use std::fmt;

mod coff;
mod constants;
mod elf;
mod fields;
mod flaw;
mod layout;
mod names;
mod target;
#[cfg(test)]
mod tests;
mod words;

pub use flaw::Flaw;
pub use target::{ElfTarget, Target};

/// The symbols that a job's summary shard promises.
pub trait Definitions {
    /// The GUIDs of promised symbols that are not among `symbols`: the names of the global and weak symbols that the
    /// object defines, common ones included, as they stand in its symbol table.
    fn missing(&self, symbols: &mut dyn Iterator<Item = &[u8]>) -> Vec<u64>;
}

/// Nothing is promised: what is left when the shard could not be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDefinitions;

impl Definitions for NoDefinitions {
    fn missing(&self, _: &mut dyn Iterator<Item = &[u8]>) -> Vec<u64> {
        Vec::new()
    }
}

/// What is known of an object before it is there.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    /// What the job's `--target=` stands for.
    pub target: Target,
    /// The ELF `e_flags` of an object of this link that was compiled here ([`elf_flags`]). Only for a remote object:
    /// on a few machines (RISC-V, MIPS) the flags follow the module, so a difference calls for a local compile, no
    /// more. `None` leaves the check to what the machine alone allows.
    pub flags: Option<u32>,
    /// The module's `source_filename`, whole, as its bitcode records it.
    pub source_name: Option<&'a [u8]>,
    /// What the shard says this module defines.
    pub definitions: &'a (dyn Definitions + Sync),
}

impl fmt::Debug for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected")
            .field("target", &self.target)
            .field("flags", &self.flags)
            .field("source_name", &self.source_name.map(String::from_utf8_lossy))
            .finish_non_exhaustive()
    }
}

/// Checks one object and what its compiler said, `stderr`, which may hold warnings.
///
/// # Errors
/// The first [`Flaw`] found. The caller knows who made the object and so whose fault it is.
pub fn verify(object: &[u8], expected: &Expected<'_>, stderr: &[u8]) -> Result<(), Flaw> {
    if let Some(line) = words::backend_error(stderr) {
        return Err(Flaw::BackendError { line });
    }
    let missing = match (Format::of(object)?, expected.target) {
        (Format::Elf, Target::Coff { .. }) => return Err(wrong_format(expected.target, "an ELF object")),
        (Format::Coff, Target::Elf(_)) => return Err(wrong_format(expected.target, "a COFF object")),
        (Format::Elf, target) => {
            let file = elf::File::parse(object, target.elf(), expected.flags)?;
            check_source(&file, expected.source_name)?;
            let missing = expected.definitions.missing(&mut file.defined());
            // A symbol version given in assembly may have replaced a symbol, whatever that was called.
            if missing.len() <= file.versioned() { Vec::new() } else { missing }
        }
        (Format::Coff, target) => {
            let file = coff::File::parse(object, target.coff_machine())?;
            expected.definitions.missing(&mut file.defined())
        }
    };
    match missing.first() {
        None => Ok(()),
        Some(&guid) => Err(Flaw::MissingDefinitions { count: missing.len(), guid }),
    }
}

/// The `e_flags` of a good ELF object, to hold the others of the same link against ([`Expected::flags`]).
pub fn elf_flags(object: &[u8]) -> Option<u32> {
    elf::flags(object)
}

/// Where two objects of one job differ first; `None`: they are the same.
pub fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let differs = one.iter().zip(other).position(|(a, b)| a != b);
    differs.or_else(|| (one.len() != other.len()).then(|| one.len().min(other.len())))
}

enum Format {
    Elf,
    Coff,
}

impl Format {
    fn of(object: &[u8]) -> Result<Self, Flaw> {
        if object.is_empty() {
            Err(Flaw::Empty)
        } else if object.starts_with(constants::ELFMAG) {
            Ok(Self::Elf)
        } else if coff::is_coff(object) {
            Ok(Self::Coff)
        } else {
            Err(Flaw::NotAnObject { start: object.iter().copied().take(4).collect() })
        }
    }
}

fn wrong_format(expected: Target, found: &str) -> Flaw {
    Flaw::WrongMachine { expected: expected.to_string(), found: found.to_owned() }
}

/// LLVM names the source in a file symbol, and module-level assembly may add more of them; so one of them must be
/// ours. An object without any is fine: not every assembler writes one.
fn check_source(file: &elf::File<'_>, source: Option<&[u8]>) -> Result<(), Flaw> {
    let Some(source) = source else { return Ok(()) };
    let mut found = None;
    for name in file.source_names() {
        if names::is_source(name, source) {
            return Ok(());
        }
        found = found.or(Some(name));
    }
    match found {
        None => Ok(()),
        Some(name) => Err(Flaw::WrongSource {
            expected: String::from_utf8_lossy(source).into_owned(),
            found: String::from_utf8_lossy(name).into_owned(),
        }),
    }
}
