//! A complete relocatable ELF object, of either class and byte order.
//!
//! Everything that a flipped bit in a header could change is either given by the target, zero in relocatable objects,
//! or held against the rest of the file.

use super::constants::*;
use super::fields::{Fields, slice, string};
use super::flaw::Flaw;
use super::layout::{Layout, Part};
use super::names;
use super::target::ElfTarget;

mod header;
mod sections;
mod symbols;

use header::Header;
use sections::Section;
use symbols::Symbols;

/// A checked object.
pub(super) struct File<'a> {
    symbols: Option<Symbols<'a>>,
}

impl<'a> File<'a> {
    /// Checks the file's structure and, where they are known, its target and `e_flags`.
    pub(super) fn parse(data: &'a [u8], target: Option<ElfTarget>, flags: Option<u32>) -> Result<Self, Flaw> {
        let header = Header::parse(data, target, flags)?;
        let fields = header.fields(data);
        let sections = sections::read(fields, &header)?;
        lay_out(data, &header, &sections)?;
        sections::check_names(data, header.names_index(&sections)?, &sections)?;
        let symbols = symbols::find(fields, &sections)?;
        let count = symbols.as_ref().map_or(0, Symbols::len);
        for (index, section) in (0..).zip(&sections) {
            sections::check(fields, index, section, &sections, count, header.machine)?;
        }
        if let Some(symbols) = &symbols {
            symbols.check(sections.len())?;
        }
        Ok(Self { symbols })
    }

    /// The names of the global and weak symbols that the object defines, common ones included.
    pub(super) fn defined(&self) -> impl Iterator<Item = &'a [u8]> {
        self.symbols.iter().flat_map(Symbols::defined)
    }

    /// How many of them carry a version.
    pub(super) fn versioned(&self) -> usize {
        self.defined().filter(|name| names::is_versioned(name)).count()
    }

    /// The names of its file symbols.
    pub(super) fn source_names(&self) -> impl Iterator<Item = &'a [u8]> {
        self.symbols.iter().flat_map(Symbols::files)
    }
}

/// The `e_flags` of an ELF header.
pub(super) fn flags(data: &[u8]) -> Option<u32> {
    data.starts_with(ELFMAG).then_some(())?;
    Some(Header::read(data)?.flags)
}

/// Header, section table and sections share the file's bytes without overlap and reach to its end.
fn lay_out(data: &[u8], header: &Header, sections: &[Section]) -> Result<(), Flaw> {
    let mut layout = Layout::new(data.len(), sections.len() + 2);
    layout.add(Part::Header, 0, header.size())?;
    layout.add(Part::SectionTable, header.section_table, sections.len() as u64 * header.section_entry_size())?;
    for (index, section) in (0..).zip(sections) {
        if section.occupies_file() {
            layout.add(Part::Section(index), section.offset, section.size)?;
        }
    }
    layout.check()
}

/// The contents of a section that [`lay_out`] has found inside the file.
fn contents<'a>(data: &'a [u8], section: &Section) -> &'a [u8] {
    if section.occupies_file() { slice(data, section.offset, section.size).unwrap_or_default() } else { &[] }
}
