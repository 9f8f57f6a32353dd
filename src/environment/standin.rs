//! Stand-ins for libraries that the compiler is linked with, but that generating code never calls. They and what only
//! they need would be a fifth of the environment.
//!
//! A stand-in has the library's name and those of its symbols that somebody wants, in their versions, so that the dynamic
//! linker is content; each of them ends the program.

use std::collections::{BTreeMap, BTreeSet};

use super::EnvironmentError;
use super::compiler::Compiler;
use super::elf::{Elf, Symbol};
use super::libraries::Library;

pub(super) mod build;

/// The libraries that something stands in for, by the start of their names.
const REPLACED: &[&str] = &[
    // Merges the manifests of Windows programs, in lld. Brings the 31 MB of ICU with it.
    "libxml2.so.",
    // Solves constraints, in the static analyzer. 23 MB.
    "libz3.so.",
    // Reads lines from a terminal, in the debugger and in interactive tools.
    "libedit.so.",
    // Fetches debug information from servers, in the symbolizer. Brings TLS, Kerberos and LDAP with it.
    "libcurl.so.",
];

/// What is put in place of a library.
pub(super) struct StandIn {
    /// The library.
    pub(super) library: Library,
    /// The file.
    pub(super) bytes: Vec<u8>,
}

/// The libraries of a compiler, once some have been replaced.
pub(super) struct Choice {
    /// Those that go in as they are.
    pub(super) kept: Vec<Library>,
    /// Those that something stands in for.
    pub(super) stand_ins: Vec<StandIn>,
}

impl Choice {
    /// All libraries as they are.
    pub(super) fn all(libraries: &[Library]) -> Self {
        Self { kept: libraries.to_vec(), stand_ins: Vec::new() }
    }

    /// Every library, with the bytes of its stand-in where there is one.
    pub(super) fn libraries(&self) -> impl Iterator<Item = (&Library, Option<&[u8]>)> {
        let stand_ins = self.stand_ins.iter().map(|it| (&it.library, Some(it.bytes.as_slice())));
        self.kept.iter().map(|library| (library, None)).chain(stand_ins)
    }
}

/// Replaces what can be replaced, and leaves out what nobody needs any more. `None`: nothing can be.
pub(super) fn choose(compiler: &Compiler, libraries: &[Library]) -> Result<Option<Choice>, EnvironmentError> {
    let program = Elf::open(&compiler.program)?;
    let facts = program.facts()?;
    let reached = reached(&facts.needed, libraries);
    let (replaced, kept): (Vec<_>, Vec<_>) =
        libraries.iter().filter(|library| reached.contains(library.name.as_str())).partition(|it| is_replaced(it));
    if replaced.is_empty() {
        return Ok(None);
    }
    let mut wanted = undefined(&program)?;
    for library in &kept {
        wanted.extend(undefined(&Elf::open(&library.path)?)?);
    }
    let mut stand_ins = Vec::new();
    for library in replaced {
        let Some(symbols) = exported(library, &wanted)? else { return Ok(None) };
        let Some(bytes) = build::library(facts.machine, &library.name, &symbols) else { return Ok(None) };
        stand_ins.push(StandIn { library: library.clone(), bytes });
    }
    Ok(Some(Choice { kept: kept.into_iter().cloned().collect(), stand_ins }))
}

fn is_replaced(library: &Library) -> bool {
    REPLACED.iter().any(|start| library.name.starts_with(start))
}

/// The libraries that are loaded when those of [`REPLACED`] need nothing.
pub(super) fn reached<'a>(needed: &'a [String], libraries: &'a [Library]) -> BTreeSet<&'a str> {
    let by_name: BTreeMap<&str, &Library> = libraries.iter().map(|library| (library.name.as_str(), library)).collect();
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = needed.iter().map(String::as_str).collect();
    while let Some(name) = open.pop() {
        let Some(library) = by_name.get(name).filter(|_| reached.insert(name)) else { continue };
        if !is_replaced(library) {
            open.extend(library.needed.iter().map(String::as_str));
        }
    }
    reached
}

/// A symbol by its name and version.
pub(super) type Name = (Vec<u8>, Option<Vec<u8>>);

/// What a file wants from others.
fn undefined(elf: &Elf) -> Result<Vec<Symbol>, EnvironmentError> {
    Ok(elf.symbols()?.into_iter().filter(|symbol| !symbol.defined).collect())
}

/// The symbols of the library that are wanted. `None`: one of them is of a kind that no other can stand for.
fn exported(library: &Library, wanted: &[Symbol]) -> Result<Option<BTreeSet<Name>>, EnvironmentError> {
    let own = Some(library.name.as_bytes());
    let from_here: BTreeSet<_> =
        wanted.iter().filter(|it| it.from.as_deref() == own).map(|it| (&it.name, &it.version)).collect();
    let from_anywhere: BTreeSet<_> = wanted.iter().filter(|it| it.from.is_none()).map(|it| &it.name).collect();
    let mut exported = BTreeSet::new();
    for symbol in Elf::open(&library.path)?.symbols()?.into_iter().filter(|symbol| symbol.defined) {
        if !from_here.contains(&(&symbol.name, &symbol.version)) && !from_anywhere.contains(&symbol.name) {
            continue;
        }
        if symbol.thread_local {
            return Ok(None);
        }
        exported.insert((symbol.name, symbol.version));
    }
    Ok(Some(exported))
}
