//! The COFF symbol and string tables, which end the file.

use super::*;

/// The longest name that stands in the symbol's entry, in bytes.
const INLINE_NAME: usize = 8;

/// The symbol table with its string table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbols<'a> {
    table: Fields<'a>,
    /// The string table; offsets count from its 4-byte size on.
    pub(super) strings: &'a [u8],
    /// Entries, auxiliary ones included.
    pub(super) count: u32,
    big: bool,
}

#[derive(Clone, Copy, Debug)]
struct Symbol<'a> {
    /// Its place in the table.
    index: u32,
    entry: Fields<'a>,
    value: u32,
    section: i32,
    class: u8,
    auxiliaries: u8,
}

impl<'a> Symbols<'a> {
    /// Finds both tables and adds them to the layout.
    pub(super) fn find(fields: Fields<'a>, header: &Header, layout: &mut Layout) -> Result<Self, Flaw> {
        let start = u64::from(header.symbol_table);
        let length = u64::from(header.symbol_count) * header.symbol_size();
        layout.add(Part::SymbolTable, start, length)?;
        let strings_start = start.saturating_add(length);
        let size = fields.part(strings_start, 4).and_then(|size| size.u32(0));
        // Without long names the table is its own size, or 0 in its place.
        let strings_size = u64::from(size.unwrap_or_default().max(4));
        layout.add(Part::StringTable, strings_start, strings_size)?;
        Ok(Self {
            table: fields.part(start, length).unwrap_or(Fields { data: &[], ..fields }),
            strings: slice(fields.data, strings_start, strings_size).unwrap_or_default(),
            count: header.symbol_count,
            big: header.big,
        })
    }

    /// Every symbol has a name that is not too long to be read, stands in a section that exists, and its auxiliary entries
    /// end inside the table.
    pub(super) fn check(&self, header: &Header, budget: &mut names::Budget) -> Result<(), Flaw> {
        if self.strings.len() > 4 && self.strings.last() != Some(&0) {
            return Err(Flaw::Symbol { index: 0, fault: "the string table does not end with a NUL" });
        }
        let sections = i64::from(header.section_count);
        for symbol in self.all() {
            let fault = |fault| Err(Flaw::Symbol { index: symbol.index, fault });
            let Some(name) = self.name(&symbol) else {
                return fault("its name is outside the string table");
            };
            // As short a name costs no more than the entry did.
            if name.len() > INLINE_NAME && !budget.allows(name) {
                return fault("the names up to here are far longer than the string table");
            }
            // Besides sections: -2 debugging, -1 absolute, 0 undefined or common.
            if !(-2..=sections).contains(&i64::from(symbol.section)) {
                return fault("its section does not exist");
            }
            if u64::from(symbol.index) + u64::from(symbol.auxiliaries) >= u64::from(self.count) {
                return fault("it runs over the end of the symbol table");
            }
        }
        Ok(())
    }

    /// The names of the symbols that are defined here for other objects: in a section, absolute, common, or a weak one
    /// with its default.
    pub(super) fn defined(&self) -> impl Iterator<Item = &'a [u8]> {
        let symbols = *self;
        self.all().filter(is_defined).filter_map(move |symbol| symbols.name(&symbol))
    }

    fn name(&self, symbol: &Symbol<'a>) -> Option<&'a [u8]> {
        if symbol.entry.u32(0)? == 0 {
            return string(self.strings, symbol.entry.u32(4)?);
        }
        let name: &[u8; INLINE_NAME] = symbol.entry.data.first_chunk()?;
        name.split(|&byte| byte == 0).next()
    }

    /// The symbols without their auxiliary entries.
    fn all(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let (table, big) = (self.table, self.big);
        let size = if big { 20 } else { 18 };
        let mut next = 0_u32;
        std::iter::from_fn(move || {
            let start = usize::try_from(next).ok()?.checked_mul(size)?;
            let entry = Fields { data: table.data.get(start..)?.get(..size)?, ..table };
            let section = if big { entry.u32(12)?.cast_signed() } else { entry.u16(12)?.cast_signed().into() };
            let symbol = Symbol {
                index: next,
                entry,
                value: entry.u32(8)?,
                section,
                class: entry.u8(size - 2)?,
                auxiliaries: entry.u8(size - 1)?,
            };
            next = next.checked_add(1)?.checked_add(symbol.auxiliaries.into())?;
            Some(symbol)
        })
    }
}

fn is_defined(symbol: &Symbol<'_>) -> bool {
    match symbol.class {
        IMAGE_SYM_CLASS_WEAK_EXTERNAL => true,
        IMAGE_SYM_CLASS_EXTERNAL => symbol.section != 0 || symbol.value != 0,
        _ => false,
    }
}
