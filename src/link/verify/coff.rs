//! A complete COFF object, in the common form and the one with 32-bit section numbers (`/bigobj`).

use super::constants::*;
use super::fields::{Fields, slice, string};
use super::flaw::Flaw;
use super::layout::{Layout, Part};
use super::names;

mod header;
mod sections;
mod symbols;

use header::Header;
use symbols::Symbols;

/// A checked object.
pub(super) struct File<'a> {
    symbols: Symbols<'a>,
}

/// Whether the bytes begin like a COFF object of a machine that LLVM compiles for.
pub(super) fn is_coff(data: &[u8]) -> bool {
    header::machine(data).is_some_and(|machine| {
        matches!(
            machine,
            IMAGE_FILE_MACHINE_I386
                | IMAGE_FILE_MACHINE_R4000
                | IMAGE_FILE_MACHINE_ARMNT
                | IMAGE_FILE_MACHINE_AMD64
                | IMAGE_FILE_MACHINE_ARM64EC
                | IMAGE_FILE_MACHINE_ARM64
        )
    })
}

impl<'a> File<'a> {
    /// Checks the file's structure and, where it is known, its machine.
    pub(super) fn parse(data: &'a [u8], machine: Option<u16>) -> Result<Self, Flaw> {
        let header = Header::parse(data, machine)?;
        let fields = Fields { data, wide: false, big: false };
        let mut layout = Layout::new(data.len(), 3 * header.sections_in(data) + 4);
        layout.add(Part::Header, 0, header.size())?;
        layout.add(Part::SectionTable, header.size(), header.section_table_size())?;
        let symbols = Symbols::find(fields, &header, &mut layout)?;
        sections::lay_out(fields, &header, &mut layout)?;
        // From here on no byte is read for two parts, so that the work is bounded by the file's size.
        layout.check()?;
        let mut budget = names::Budget::of(symbols.strings);
        sections::check(fields, &header, &symbols, &mut budget)?;
        symbols.check(&header, &mut budget)?;
        Ok(Self { symbols })
    }

    /// The names of the external symbols that the object defines, common and weak ones included.
    pub(super) fn defined(&self) -> impl Iterator<Item = &'a [u8]> {
        self.symbols.defined()
    }
}
