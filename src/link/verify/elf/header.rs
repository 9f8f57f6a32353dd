//! The ELF file header.

use super::*;

/// The fields that are not the same in all objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    wide: bool,
    big: bool,
    pub(super) machine: u16,
    pub(super) flags: u32,
    /// `e_shoff`.
    pub(super) section_table: u64,
    /// `e_shnum`; 0 when section 0 holds the number.
    pub(super) section_count: u16,
    /// `e_shstrndx`; `SHN_XINDEX` when section 0 holds the index.
    names_index: u16,
}

impl Header {
    /// Checks every field.
    pub(super) fn parse(data: &[u8], target: Option<ElfTarget>, flags: Option<u32>) -> Result<Self, Flaw> {
        check_class(data, target)?;
        let size = if data.get(4) == Some(&ELFCLASS64) { 64 } else { 52 };
        let header =
            Self::read(data).ok_or(Flaw::Truncated { part: Part::Header, end: size, size: data.len() as u64 })?;
        header.check_target(data, target)?;
        if let Some((field, value)) = header.odd_field(data, target) {
            return Err(Flaw::Header { field, value });
        }
        match flags.filter(|expected| *expected != header.flags) {
            Some(expected) => Err(Flaw::OtherFlags { expected, found: header.flags }),
            None => Ok(header),
        }
    }

    /// Reads the fields by the class and byte order that the file states; `None` when it ends before the header does.
    pub(super) fn read(data: &[u8]) -> Option<Self> {
        let wide = *data.get(4)? == ELFCLASS64;
        let big = *data.get(5)? == ELFDATA2MSB;
        let fields = Fields { data, wide, big };
        let at = |narrow: usize, other: usize| if wide { other } else { narrow };
        Some(Self {
            wide,
            big,
            machine: fields.u16(18)?,
            flags: fields.u32(at(36, 48))?,
            section_table: fields.word(at(32, 40))?,
            section_count: fields.u16(at(48, 60))?,
            names_index: fields.u16(at(50, 62))?,
        })
    }

    pub(super) fn fields<'a>(&self, data: &'a [u8]) -> Fields<'a> {
        Fields { data, wide: self.wide, big: self.big }
    }

    /// `e_ehsize`.
    pub(super) fn size(&self) -> u64 {
        if self.wide { 64 } else { 52 }
    }

    /// `e_shentsize`.
    pub(super) fn section_entry_size(&self) -> u64 {
        if self.wide { 64 } else { 40 }
    }

    /// The index of the section that holds the sections' names.
    pub(super) fn names_index(&self, sections: &[Section]) -> Result<u32, Flaw> {
        let link = sections.first().map_or(0, |null| null.link);
        let extended = self.names_index == SHN_XINDEX;
        let sound =
            if extended { link >= u32::from(SHN_LORESERVE) } else { link == 0 && self.names_index < SHN_LORESERVE };
        let index = if extended { link } else { u32::from(self.names_index) };
        if sound { Ok(index) } else { Err(Flaw::Header { field: "e_shstrndx", value: index.into() }) }
    }

    fn check_target(&self, data: &[u8], target: Option<ElfTarget>) -> Result<(), Flaw> {
        let Some(target) = target else { return Ok(()) };
        if target.wide == self.wide && target.big == self.big && target.takes_machine(self.machine) {
            return Ok(());
        }
        let os_abi = data.get(7).copied().unwrap_or_default();
        let found = ElfTarget { wide: self.wide, big: self.big, machine: self.machine, os_abi };
        Err(Flaw::WrongMachine { expected: target.to_string(), found: found.to_string() })
    }

    /// The first field that no compiler for this target writes so.
    fn odd_field(&self, data: &[u8], target: Option<ElfTarget>) -> Option<(&'static str, u64)> {
        let fields = self.fields(data);
        let at = |narrow: usize, wide: usize| if self.wide { wide } else { narrow };
        let byte = |at| u64::from(fields.u8(at).unwrap_or_default());
        let half = |at| u64::from(fields.u16(at).unwrap_or_default());
        let word = |at| fields.word(at).unwrap_or_default();

        let os_abi = fields.u8(7).unwrap_or_default();
        let abi_version = fields.u8(8).unwrap_or_default();
        let newest_abi_version = if os_abi == ELFOSABI_AMDGPU_HSA { ELFABIVERSION_AMDGPU_HSA_V6 } else { 0 };
        let padding = data.get(9..16).unwrap_or_default();
        let flags_fit = target.is_none_or(|target| target.takes_flags(self.flags));
        [
            ("EI_VERSION", byte(6), byte(6) == u64::from(EV_CURRENT)),
            ("EI_OSABI", byte(7), target.is_none_or(|target| target.takes_os_abi(os_abi))),
            ("EI_ABIVERSION", byte(8), abi_version <= newest_abi_version),
            (
                "EI_PAD",
                u64::from(padding.iter().fold(0, |all, byte| all | byte)),
                padding.iter().all(|&byte| byte == 0),
            ),
            ("e_type", half(16), half(16) == u64::from(ET_REL)),
            ("e_version", fields.u32(20).unwrap_or_default().into(), fields.u32(20) == Some(u32::from(EV_CURRENT))),
            ("e_entry", word(24), word(24) == 0),
            ("e_phoff", word(at(28, 32)), word(at(28, 32)) == 0),
            ("e_flags", self.flags.into(), flags_fit),
            ("e_ehsize", half(at(40, 52)), half(at(40, 52)) == self.size()),
            ("e_phentsize", half(at(42, 54)), half(at(42, 54)) == 0),
            ("e_phnum", half(at(44, 56)), half(at(44, 56)) == 0),
            ("e_shentsize", half(at(46, 58)), half(at(46, 58)) == self.section_entry_size()),
            ("e_shnum", self.section_count.into(), self.section_count < SHN_LORESERVE),
            ("e_shoff", self.section_table, self.section_table >= self.size()),
        ]
        .into_iter()
        .find_map(|(field, value, sound)| (!sound).then_some((field, value)))
    }
}

/// Class and byte order decide how all else is read, so they come first.
fn check_class(data: &[u8], target: Option<ElfTarget>) -> Result<(), Flaw> {
    let [class, order] = *data.get(4..).unwrap_or_default().first_chunk().ok_or(Flaw::Truncated {
        part: Part::Header,
        end: if target.is_some_and(|target| target.wide) { 64 } else { 52 },
        size: data.len() as u64,
    })?;
    if !matches!(class, ELFCLASS32 | ELFCLASS64) {
        return Err(Flaw::Header { field: "EI_CLASS", value: class.into() });
    }
    if !matches!(order, ELFDATA2LSB | ELFDATA2MSB) {
        return Err(Flaw::Header { field: "EI_DATA", value: order.into() });
    }
    Ok(())
}
