//! The COFF file header in both forms.

use super::*;

/// Size of the common header.
const SIZE: u64 = 20;
/// Size of the header with 32-bit section numbers.
const BIG_SIZE: u64 = 56;
/// Size of a section header.
pub(super) const SECTION_SIZE: u64 = 40;

/// What the header says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) machine: u16,
    /// With 32-bit section numbers.
    pub(super) big: bool,
    pub(super) section_count: u32,
    pub(super) symbol_table: u32,
    pub(super) symbol_count: u32,
}

/// The machine that a header names.
pub(super) fn machine(data: &[u8]) -> Option<u16> {
    let fields = Fields { data, wide: false, big: false };
    fields.u16(if is_big(fields) { 6 } else { 0 })
}

/// The long form says machine 0 and 65535 sections to readers that do not know it.
fn is_big(fields: Fields<'_>) -> bool {
    fields.u16(0) == Some(0) && fields.u16(2) == Some(0xffff)
}

impl Header {
    pub(super) fn parse(data: &[u8], machine: Option<u16>) -> Result<Self, Flaw> {
        let fields = Fields { data, wide: false, big: false };
        let big = is_big(fields);
        let header = if big { Self::read_big(fields) } else { Self::read(fields) };
        let end = if big { BIG_SIZE } else { SIZE };
        let header = header.ok_or(Flaw::Truncated { part: Part::Header, end, size: data.len() as u64 })?;
        if let Some(expected) = machine.filter(|&expected| expected != header.machine) {
            return Err(Flaw::WrongMachine {
                expected: format!("COFF for machine {expected:#x}"),
                found: format!("COFF for machine {:#x}", header.machine),
            });
        }
        match header.odd_field(fields) {
            Some((field, value)) => Err(Flaw::Header { field, value }),
            None => Ok(header),
        }
    }

    fn read(fields: Fields<'_>) -> Option<Self> {
        fields.u16(18)?;
        Some(Self {
            machine: fields.u16(0)?,
            big: false,
            section_count: fields.u16(2)?.into(),
            symbol_table: fields.u32(8)?,
            symbol_count: fields.u32(12)?,
        })
    }

    fn read_big(fields: Fields<'_>) -> Option<Self> {
        Some(Self {
            machine: fields.u16(6)?,
            big: true,
            section_count: fields.u32(44)?,
            symbol_table: fields.u32(48)?,
            symbol_count: fields.u32(52)?,
        })
    }

    /// The first field that no compiler writes so. The time stamp may be anything.
    fn odd_field(&self, fields: Fields<'_>) -> Option<(&'static str, u64)> {
        let half = |at| u64::from(fields.u16(at).unwrap_or_default());
        let class_id = fields.data.get(12..28);
        let unused = fields.data.get(28..44).unwrap_or_default();
        let common = [
            ("NumberOfSections", self.section_count.into(), self.section_count > 0),
            ("PointerToSymbolTable", self.symbol_table.into(), u64::from(self.symbol_table) >= self.size()),
        ];
        let of_form = if self.big {
            [
                ("Version", half(4), half(4) == 2),
                ("ClassID", 0, class_id == Some(&BIGOBJ_CLASS_ID)),
                ("SizeOfData", 0, unused.iter().all(|&byte| byte == 0)),
            ]
        } else {
            [
                ("SizeOfOptionalHeader", half(16), half(16) == 0),
                // Only linked images have any; MinGW's assembler notes here that there are no line numbers (4).
                ("Characteristics", half(18), half(18) & !4 == 0),
                ("Machine", self.machine.into(), self.machine != 0),
            ]
        };
        common.into_iter().chain(of_form).find_map(|(field, value, sound)| (!sound).then_some((field, value)))
    }

    pub(super) fn size(&self) -> u64 {
        if self.big { BIG_SIZE } else { SIZE }
    }

    pub(super) fn section_table_size(&self) -> u64 {
        u64::from(self.section_count) * SECTION_SIZE
    }

    /// How many sections the file has room for: the number to reserve memory for.
    pub(super) fn sections_in(&self, data: &[u8]) -> usize {
        (self.section_count as usize).min(data.len() / SECTION_SIZE as usize)
    }

    pub(super) fn symbol_size(&self) -> u64 {
        if self.big { 20 } else { 18 }
    }
}
