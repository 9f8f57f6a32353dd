//! The section table and what hangs on it: names, relocations, groups.

use super::*;

/// A section header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    name: u32,
    pub(super) kind: u32,
    flags: u64,
    address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    align: u64,
    pub(super) entry_size: u64,
}

impl Section {
    fn read(fields: Fields<'_>) -> Option<Self> {
        let at = |narrow: usize, wide: usize| if fields.wide { wide } else { narrow };
        Some(Self {
            name: fields.u32(0)?,
            kind: fields.u32(4)?,
            flags: fields.word(8)?,
            address: fields.word(at(12, 16))?,
            offset: fields.word(at(16, 24))?,
            size: fields.word(at(20, 32))?,
            link: fields.u32(at(24, 40))?,
            info: fields.u32(at(28, 44))?,
            align: fields.word(at(32, 48))?,
            entry_size: fields.word(at(36, 56))?,
        })
    }

    pub(super) fn occupies_file(&self) -> bool {
        !matches!(self.kind, SHT_NULL | SHT_NOBITS)
    }
}

/// Reads the section table. Its length is checked against the file's before room is made for it.
pub(super) fn read(fields: Fields<'_>, header: &Header) -> Result<Vec<Section>, Flaw> {
    let size = fields.data.len() as u64;
    let entry_size = header.section_entry_size();
    let truncated = |end| Flaw::Truncated { part: Part::SectionTable, end, size };
    let entry = |index: u64| {
        let offset = header.section_table.checked_add(index.checked_mul(entry_size)?)?;
        Section::read(fields.part(offset, entry_size)?)
    };
    let null = entry(0).ok_or_else(|| truncated(header.section_table.saturating_add(entry_size)))?;
    let count = section_count(header, &null)?;
    let end = count.checked_mul(entry_size).and_then(|length| header.section_table.checked_add(length));
    let end = end.unwrap_or(u64::MAX);
    if end > size {
        return Err(truncated(end));
    }
    (0..count).map(|index| entry(index).ok_or_else(|| truncated(end))).collect()
}

/// Section 0 is empty, but for the number of sections and the index of their names where these need more than 16 bits.
fn section_count(header: &Header, null: &Section) -> Result<u64, Flaw> {
    let Section { name, kind, flags, address, offset, size, link: _, info, align, entry_size } = *null;
    if name != 0 || kind != SHT_NULL || info != 0 || [flags, address, offset, align, entry_size] != [0; 5] {
        return Err(Flaw::Section { index: 0, fault: "it must be empty" });
    }
    match (header.section_count, size) {
        (0, extended) if extended >= u64::from(SHN_LORESERVE) && extended <= u64::from(u32::MAX) => Ok(extended),
        (0, few) => Err(Flaw::Header { field: "e_shnum", value: few }),
        (count, 0) => Ok(count.into()),
        _ => Err(Flaw::Section { index: 0, fault: "it must be empty" }),
    }
}

/// Every section has a name in the table of names, which names itself as such.
pub(super) fn check_names(data: &[u8], names_index: u32, sections: &[Section]) -> Result<(), Flaw> {
    let wrong = Flaw::Header { field: "e_shstrndx", value: names_index.into() };
    let Some(names) = get(sections, names_index).filter(|section| section.kind == SHT_STRTAB) else {
        return Err(wrong);
    };
    let table = contents(data, names);
    if !matches!(string(table, names.name), Some(b".shstrtab" | b".strtab")) {
        return Err(wrong);
    }
    check_ends(table, names_index)?;
    for (index, section) in (0..).zip(sections) {
        if section.name as usize >= table.len() {
            return Err(Flaw::Section { index, fault: "its name is outside the table of names" });
        }
    }
    Ok(())
}

/// A string table ends with NUL, so that every offset inside it is a string.
pub(super) fn check_ends(table: &[u8], index: u32) -> Result<(), Flaw> {
    match table.last() {
        Some(0) => Ok(()),
        _ => Err(Flaw::Section { index, fault: "the string table does not end with a NUL" }),
    }
}

pub(super) fn get(sections: &[Section], index: u32) -> Option<&Section> {
    sections.get(usize::try_from(index).ok()?)
}

/// Checks what one section says of others. `symbol_count` is that of the symbol table.
pub(super) fn check(
    fields: Fields<'_>,
    index: u32,
    section: &Section,
    sections: &[Section],
    symbol_count: u32,
    machine: u16,
) -> Result<(), Flaw> {
    let fault = |fault| Err(Flaw::Section { index, fault });
    if index == 0 || section.kind == SHT_NULL {
        return Ok(());
    }
    if section.address != 0 {
        return fault("it has an address, but nothing was linked yet");
    }
    if get(sections, section.link).is_none() {
        return fault("the section it is linked to does not exist");
    }
    if !(section.align == 0 || section.align.is_power_of_two()) {
        return fault("its alignment is no power of two");
    }
    match section.kind {
        SHT_REL | SHT_RELA => {
            let Some(entry_size) = entry_size(fields.wide, section) else {
                return fault("its size is not that of whole relocations");
            };
            if get(sections, section.link).is_none_or(|table| table.kind != SHT_SYMTAB) {
                return fault("it is not linked to the symbol table");
            }
            let Some(target) = get(sections, section.info).filter(|target| target.kind != SHT_NULL) else {
                return fault("the section it relocates does not exist");
            };
            let relocations = Relocations { fields, section, index, entry_size, machine };
            relocations.check(relocatable_size(fields, target), symbol_count)
        }
        SHT_GROUP => {
            if section.size < 4 || !section.size.is_multiple_of(4) {
                return fault("its size is not that of a section group");
            }
            if section.info >= symbol_count {
                return fault("the symbol it is named after does not exist");
            }
            let words = contents(fields.data, section).chunks_exact(4).skip(1);
            let mut members = words.filter_map(|word| Fields { data: word, ..fields }.u32(0));
            if members.any(|member| member == 0 || get(sections, member).is_none()) {
                return fault("a member of the group does not exist");
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The size of one relocation of a section of such, whose size must be a multiple of it.
fn entry_size(wide: bool, section: &Section) -> Option<usize> {
    let size = match (wide, section.kind == SHT_RELA) {
        (false, false) => 8,
        (false, true) => 12,
        (true, false) => 16,
        (true, true) => 24,
    };
    (section.entry_size == size as u64 && section.size.is_multiple_of(size as u64)).then_some(size)
}

/// How far relocations may reach into a section: its size, or its size before compression.
fn relocatable_size(fields: Fields<'_>, section: &Section) -> u64 {
    if section.flags & SHF_COMPRESSED == 0 {
        return section.size;
    }
    let header = Fields { data: contents(fields.data, section), ..fields };
    header.word(if fields.wide { 8 } else { 4 }).unwrap_or(0)
}

struct Relocations<'a> {
    fields: Fields<'a>,
    section: &'a Section,
    index: u32,
    entry_size: usize,
    machine: u16,
}

impl Relocations<'_> {
    /// Every relocation is applied inside a section of `size` bytes and names one of `symbol_count` symbols.
    fn check(&self, size: u64, symbol_count: u32) -> Result<(), Flaw> {
        let entries = contents(self.fields.data, self.section).chunks_exact(self.entry_size);
        for (index, entry) in (0..).zip(entries) {
            let entry = Fields { data: entry, ..self.fields };
            let fault = |fault| Err(Flaw::Relocation { section: self.index, index, fault });
            // A marker may stand at the very end.
            if entry.word(0).is_none_or(|offset| offset > size) {
                return fault("its place is outside the section");
            }
            if self.symbol(entry).is_none_or(|symbol| symbol >= u64::from(symbol_count)) {
                return fault("its symbol does not exist");
            }
        }
        Ok(())
    }

    fn symbol(&self, entry: Fields<'_>) -> Option<u64> {
        match (entry.wide, self.machine) {
            (false, _) => Some(u64::from(entry.u32(4)? >> 8)),
            // 64-bit MIPS keeps the symbol in a field of its own, before the types.
            (true, EM_MIPS) => Some(u64::from(entry.u32(8)?)),
            (true, _) => Some(entry.u64(8)? >> 32),
        }
    }
}
