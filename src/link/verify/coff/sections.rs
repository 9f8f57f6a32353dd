//! COFF sections and their relocations.

use super::header::SECTION_SIZE;
use super::*;

/// Size of a relocation.
const RELOCATION_SIZE: u64 = 10;
/// Size of a line number.
const LINE_NUMBER_SIZE: u64 = 6;

/// A section header.
struct Section {
    name: [u8; 8],
    data_size: u32,
    data: u32,
    relocations: u32,
    line_numbers: u32,
    relocation_count: u16,
    line_number_count: u16,
    characteristics: u32,
}

impl Section {
    fn read(fields: Fields<'_>) -> Option<Self> {
        Some(Self {
            name: *fields.data.first_chunk()?,
            data_size: fields.u32(16)?,
            data: fields.u32(20)?,
            relocations: fields.u32(24)?,
            line_numbers: fields.u32(28)?,
            relocation_count: fields.u16(32)?,
            line_number_count: fields.u16(34)?,
            characteristics: fields.u32(36)?,
        })
    }
}

/// The sections with their indexes, which count from 1. The section table is inside the file.
fn all<'a>(fields: Fields<'a>, header: &Header) -> impl Iterator<Item = (u32, Section)> + use<'a> {
    let table = slice(fields.data, header.size(), header.section_table_size()).unwrap_or_default();
    let entries = table.chunks_exact(SECTION_SIZE as usize);
    (1..).zip(entries.map_while(move |entry| Section::read(Fields { data: entry, ..fields })))
}

/// Adds the parts of every section to the layout.
pub(super) fn lay_out(fields: Fields<'_>, header: &Header, layout: &mut Layout) -> Result<(), Flaw> {
    for (index, section) in all(fields, header) {
        if section.characteristics & IMAGE_SCN_CNT_UNINITIALIZED_DATA == 0 {
            layout.add(Part::Section(index), section.data.into(), section.data_size.into())?;
        }
        let lines = u64::from(section.line_number_count) * LINE_NUMBER_SIZE;
        layout.add(Part::LineNumbers(index), section.line_numbers.into(), lines)?;
        let (_, count) = relocations(fields, &section);
        layout.add(Part::Relocations(index), section.relocations.into(), count * RELOCATION_SIZE)?;
    }
    Ok(())
}

/// Checks the name and the relocations of every section. Their parts are inside the file and do not overlap.
pub(super) fn check(
    fields: Fields<'_>,
    header: &Header,
    symbols: &Symbols<'_>,
    budget: &mut names::Budget,
) -> Result<(), Flaw> {
    for (index, section) in all(fields, header) {
        let fault = |fault| Err(Flaw::Section { index, fault });
        let Some(name) = name(&section.name, symbols) else {
            return fault("its name is outside the string table");
        };
        if !budget.allows(name) {
            return fault("the names up to here are far longer than the string table");
        }
        let (first, count) = relocations(fields, &section);
        let entries = slice(fields.data, section.relocations.into(), count * RELOCATION_SIZE).unwrap_or_default();
        check_relocations(Fields { data: entries, ..fields }, index, first, symbols.count)?;
    }
    Ok(())
}

/// The name of a section where it stands in the string table; empty where the header holds it, which costs nothing.
///
/// A name of more than eight bytes is `/` with a decimal offset into the string table, or `//` with one in base 64.
fn name<'a>(name: &[u8; 8], symbols: &Symbols<'a>) -> Option<&'a [u8]> {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let offset = match name.get(..end).unwrap_or_default() {
        [b'/', b'/', digits @ ..] => digits.iter().try_fold(0_u64, |all, &digit| Some(all * 64 + base64(digit)?)),
        [b'/', digits @ ..] => str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()),
        _ => return Some(&[]),
    };
    string(symbols.strings, u32::try_from(offset?).ok()?)
}

fn base64(digit: u8) -> Option<u64> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    DIGITS.iter().position(|&known| known == digit).map(|value| value as u64)
}

/// The first relocation that is one, and the number of entries. From 65535 on, the first entry holds the number.
fn relocations(fields: Fields<'_>, section: &Section) -> (usize, u64) {
    let extended = section.relocation_count == u16::MAX && section.characteristics & IMAGE_SCN_LNK_NRELOC_OVFL != 0;
    match usize::try_from(section.relocations).ok().and_then(|at| fields.u32(at)) {
        Some(count) if extended => (1, count.into()),
        _ => (0, section.relocation_count.into()),
    }
}

fn check_relocations(entries: Fields<'_>, section: u32, first: usize, symbol_count: u32) -> Result<(), Flaw> {
    let relocations = entries.data.chunks_exact(RELOCATION_SIZE as usize);
    for (index, entry) in (0..).zip(relocations).skip(first) {
        if (Fields { data: entry, ..entries }).u32(4).is_none_or(|symbol| symbol >= symbol_count) {
            return Err(Flaw::Relocation { section, index, fault: "its symbol does not exist" });
        }
    }
    Ok(())
}
