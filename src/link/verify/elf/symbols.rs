//! The symbol table.

use super::sections::{check_ends, get};
use super::*;

/// The symbol table with its string table. An object has one at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbols<'a> {
    table: Fields<'a>,
    strings: &'a [u8],
    /// Section indexes of 32 bits, empty when 16 bits do for all symbols.
    section_indexes: Fields<'a>,
    /// How many symbols at the table's start are local.
    locals: u32,
}

/// One symbol.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    name: u32,
    info: u8,
    section: u16,
}

impl Symbol {
    fn kind(self) -> u8 {
        self.info & 0xf
    }

    fn is_local(self) -> bool {
        self.info >> 4 == STB_LOCAL
    }
}

/// Finds the symbol table and the two sections that belong to it.
pub(super) fn find<'a>(fields: Fields<'a>, sections: &[Section]) -> Result<Option<Symbols<'a>>, Flaw> {
    let mut tables = (0..).zip(sections).filter(|(_, section)| section.kind == SHT_SYMTAB);
    let Some((index, section)) = tables.next() else { return Ok(None) };
    if let Some((index, _)) = tables.next() {
        return Err(Flaw::Section { index, fault: "it is a second symbol table" });
    }
    let fault = |fault| Err(Flaw::Section { index, fault });

    let entry_size = entry_size(fields.wide) as u64;
    if section.entry_size != entry_size || section.size == 0 || !section.size.is_multiple_of(entry_size) {
        return fault("its size is not that of a symbol table");
    }
    let count = section.size / entry_size;
    if u64::from(section.info) > count || u32::try_from(count).is_err() {
        return fault("it has fewer symbols than local ones");
    }
    let Some(names) = get(sections, section.link).filter(|names| names.kind == SHT_STRTAB) else {
        return fault("it is not linked to a string table");
    };
    let strings = contents(fields.data, names);
    check_ends(strings, section.link)?;
    let table = Fields { data: contents(fields.data, section), ..fields };
    let section_indexes = section_indexes(fields, index, count, sections)?;
    Ok(Some(Symbols { table, strings, section_indexes, locals: section.info }))
}

/// The table of 32-bit section indexes that goes with the symbol table `symbols`.
fn section_indexes<'a>(fields: Fields<'a>, symbols: u32, count: u64, sections: &[Section]) -> Result<Fields<'a>, Flaw> {
    let mut tables = (0..).zip(sections).filter(|(_, section)| section.kind == SHT_SYMTAB_SHNDX);
    let Some((index, section)) = tables.next() else { return Ok(Fields { data: &[], ..fields }) };
    if section.link != symbols || section.size != count * 4 {
        return Err(Flaw::Section { index, fault: "it does not fit the symbol table" });
    }
    Ok(Fields { data: contents(fields.data, section), ..fields })
}

fn entry_size(wide: bool) -> usize {
    if wide { 24 } else { 16 }
}

impl<'a> Symbols<'a> {
    /// How many there are, the empty one at the start included.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.table.data.len() / entry_size(self.table.wide)).unwrap_or(u32::MAX)
    }

    /// Every symbol has a name in the string table and stands in one of `section_count` sections, and the names are not
    /// too long to be read.
    pub(super) fn check(&self, section_count: usize) -> Result<(), Flaw> {
        if self.table.data.iter().take(entry_size(self.table.wide)).any(|&byte| byte != 0) {
            return Err(Flaw::Symbol { index: 0, fault: "it must be empty" });
        }
        let mut budget = names::Budget::of(self.strings);
        for (index, symbol) in (0..).zip(self.all()) {
            let fault = |fault| Err(Flaw::Symbol { index, fault });
            let Some(name) = string(self.strings, symbol.name) else {
                return fault("its name is outside the string table");
            };
            if !budget.allows(name) {
                return fault("the names up to here are far longer than the string table");
            }
            if symbol.is_local() != (index < self.locals) {
                return fault("local symbols must come first");
            }
            let section = match symbol.section {
                SHN_XINDEX => self.section_indexes.u32(index as usize * 4),
                SHN_ABS | SHN_COMMON | SHN_LORESERVE..=SHN_HIOS => continue,
                section => Some(u32::from(section)),
            };
            if section.is_none_or(|section| section as usize >= section_count) {
                return fault("its section does not exist");
            }
        }
        Ok(())
    }

    /// The names of the symbols that are defined here for other objects.
    pub(super) fn defined(&self) -> impl Iterator<Item = &'a [u8]> {
        self.names(|symbol| !symbol.is_local() && symbol.section != SHN_UNDEF)
    }

    /// The names of the file symbols.
    pub(super) fn files(&self) -> impl Iterator<Item = &'a [u8]> {
        self.names(|symbol| symbol.kind() == STT_FILE)
    }

    fn names(&self, wanted: impl Fn(&Symbol) -> bool) -> impl Iterator<Item = &'a [u8]> {
        let strings = self.strings;
        self.all().filter(move |symbol| wanted(symbol)).filter_map(move |symbol| string(strings, symbol.name))
    }

    fn all(&self) -> impl Iterator<Item = Symbol> + use<'a> {
        let fields = self.table;
        let (info, section) = if fields.wide { (4, 6) } else { (12, 14) };
        fields.data.chunks_exact(entry_size(fields.wide)).filter_map(move |entry| {
            let entry = Fields { data: entry, ..fields };
            Some(Symbol { name: entry.u32(0)?, info: entry.u8(info)?, section: entry.u16(section)? })
        })
    }
}
