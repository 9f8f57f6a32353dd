//! Writes a shared library in which every symbol is a trap.

use std::collections::BTreeSet;

use object::Endianness;
use object::elf as constants;
use object::write::StringId;
use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, SectionIndex, Sym, Verdef, Writer};

use super::Name;

/// The greatest size of a memory page among the machines of [`trap`], in bytes.
const PAGE_LEN: u64 = 64 * 1024;

/// Size of an entry of the dynamic symbol table, in bytes.
const SYMBOL_LEN: u64 = 24;

/// How many program headers there are.
const SEGMENTS: u32 = 4;

/// A shared library of this name for this machine (`e_machine`), with these symbols. `None`: for this machine none can
/// be made, or there are too many symbols.
///
/// The code comes first; what the dynamic linker writes to follows one page further in memory.
pub(in crate::environment) fn library(machine: u16, name: &str, symbols: &BTreeSet<Name>) -> Option<Vec<u8>> {
    let trap = trap(machine)?;
    let versions: BTreeSet<&[u8]> = symbols.iter().filter_map(|(_, version)| version.as_deref()).collect();
    let mut bytes = Vec::new();
    let mut out = Writer::new(Endianness::Little, true, &mut bytes);
    let names = Names {
        own: out.add_dynamic_string(name.as_bytes()),
        text: out.add_section_name(b".text"),
        symbols: symbols.iter().map(|(name, _)| out.add_dynamic_string(name)).collect(),
        versions: versions.iter().map(|version| out.add_dynamic_string(version)).collect(),
    };
    let layout = Layout::reserve(&mut out, &names, trap)?;
    write_headers(&mut out, machine, &layout)?;
    write_symbols(&mut out, symbols, &names, &layout);
    if layout.definitions > 0 {
        write_versions(&mut out, name, symbols, &versions, &names)?;
    }
    out.write_align(CODE_ALIGN);
    out.write(trap);
    write_dynamic(&mut out, &names, &layout).ok()?;
    write_sections(&mut out, &layout);
    Some(bytes)
}

/// An instruction that ends the program, by `e_machine`; `None`: not known for this one.
fn trap(machine: u16) -> Option<&'static [u8]> {
    match constants::Machine(machine) {
        constants::EM_X86_64 => Some(&[0x0f, 0x0b]),
        constants::EM_AARCH64 => Some(&[0, 0, 0, 0]),
        _ => None,
    }
}

/// Alignment of the code, in bytes.
const CODE_ALIGN: u64 = 16;

/// The names in the string table.
struct Names {
    own: StringId,
    text: StringId,
    symbols: Vec<StringId>,
    versions: Vec<StringId>,
}

/// Where everything is in the file, which is its address too but for the dynamic table.
struct Layout {
    /// Symbols, with the null symbol.
    count: u32,
    /// Version definitions, with that of the library itself; none if no symbol has a version.
    definitions: u16,
    text: (StringId, SectionIndex),
    code: u64,
    code_len: u64,
    code_end: u64,
    dynamic: u64,
    dynamic_len: u64,
    entries: Vec<(constants::DynamicTag, u64)>,
}

impl Layout {
    fn reserve(out: &mut Writer<'_>, names: &Names, trap: &[u8]) -> Option<Self> {
        let count = u32::try_from(names.symbols.len()).ok()?.checked_add(1)?;
        let versions = u16::try_from(names.versions.len()).ok()?;
        let definitions = if versions == 0 { 0 } else { versions.checked_add(1)? };
        let text = (names.text, reserve_sections(out, definitions > 0));
        out.reserve_null_dynamic_symbol_index();
        names.symbols.iter().for_each(|_| _ = out.reserve_dynamic_symbol_index());
        out.reserve_file_header();
        out.reserve_program_headers(SEGMENTS);
        let mut entries = vec![
            (constants::DT_HASH, out.reserve_hash(count, count)),
            (constants::DT_SYMTAB, out.reserve_dynsym()),
            (constants::DT_SYMENT, SYMBOL_LEN),
            (constants::DT_STRTAB, out.reserve_dynstr().ok()?),
            (constants::DT_STRSZ, out.dynstr_len().into()),
        ];
        if definitions > 0 {
            entries.extend([
                (constants::DT_VERSYM, out.reserve_gnu_versym()),
                (constants::DT_VERDEF, out.reserve_gnu_verdef(definitions, definitions.into())),
                (constants::DT_VERDEFNUM, definitions.into()),
            ]);
        }
        let code_len = u64::try_from(trap.len()).ok()?;
        let code = out.reserve(code_len, CODE_ALIGN);
        let code_end = out.reserved_len();
        // With the library's name and the end.
        let dynamic = out.reserve_dynamic(entries.len().checked_add(2)?);
        let dynamic_len = out.reserved_len().checked_sub(dynamic)?;
        out.reserve_shstrtab().ok()?;
        out.reserve_section_headers();
        Some(Self { count, definitions, text, code, code_len, code_end, dynamic, dynamic_len, entries })
    }

    /// Address of the dynamic table.
    fn dynamic_address(&self) -> u64 {
        self.dynamic.saturating_add(PAGE_LEN)
    }
}

/// Sections are not needed to run; tools that people look with read them. Returns the one of the code.
fn reserve_sections(out: &mut Writer<'_>, versioned: bool) -> SectionIndex {
    out.reserve_null_section_index();
    out.reserve_hash_section_index();
    out.reserve_dynsym_section_index();
    out.reserve_dynstr_section_index();
    if versioned {
        out.reserve_gnu_versym_section_index();
        out.reserve_gnu_verdef_section_index();
    }
    let text = out.reserve_section_index();
    out.reserve_dynamic_section_index();
    out.reserve_shstrtab_section_index();
    text
}

fn write_headers(out: &mut Writer<'_>, machine: u16, layout: &Layout) -> Option<()> {
    let header = FileHeader {
        os_abi: constants::ELFOSABI_NONE,
        abi_version: 0,
        e_type: constants::ET_DYN,
        e_machine: constants::Machine(machine),
        e_entry: 0,
        e_flags: constants::FileFlags(0),
    };
    out.write_file_header(&header).ok()?;
    out.write_align_program_headers();
    let executable = constants::PF_R | constants::PF_X;
    let writable = constants::PF_R | constants::PF_W;
    let address = layout.dynamic_address();
    for (p_type, p_flags, p_offset, address, length, p_align) in [
        (constants::PT_LOAD, executable, 0, 0, layout.code_end, PAGE_LEN),
        (constants::PT_LOAD, writable, layout.dynamic, address, layout.dynamic_len, PAGE_LEN),
        (constants::PT_DYNAMIC, writable, layout.dynamic, address, layout.dynamic_len, 8),
        (constants::PT_GNU_STACK, writable, 0, 0, 0, 16),
    ] {
        out.write_program_header(&ProgramHeader {
            p_type,
            p_flags,
            p_offset,
            p_vaddr: address,
            p_paddr: address,
            p_filesz: length,
            p_memsz: length,
            p_align,
        });
    }
    Some(())
}

fn write_symbols(out: &mut Writer<'_>, symbols: &BTreeSet<Name>, names: &Names, layout: &Layout) {
    let hashes: Vec<u32> = symbols.iter().map(|(name, _)| constants::hash(name)).collect();
    out.write_hash(layout.count, layout.count, |index| {
        // The null symbol comes first and is not looked up.
        usize::try_from(index).ok()?.checked_sub(1).and_then(|index| hashes.get(index)).copied()
    });
    out.write_null_dynamic_symbol();
    for id in &names.symbols {
        let st_name = out.dynamic_string_offset(Some(*id));
        out.write_dynamic_symbol(&Sym {
            section: Some(layout.text.1.0),
            st_name,
            st_info: constants::SymbolInfo::new(constants::STB_GLOBAL, constants::STT_FUNC),
            st_other: constants::SymbolOther(0),
            st_shndx: constants::SHN_UNDEF,
            st_value: layout.code,
            st_size: layout.code_len,
        });
    }
    out.write_dynstr();
}

fn write_versions(
    out: &mut Writer<'_>,
    name: &str,
    symbols: &BTreeSet<Name>,
    versions: &BTreeSet<&[u8]>,
    names: &Names,
) -> Option<()> {
    // Number 1 is the library itself, and of what has no version.
    let numbers = || 2_u16..;
    out.write_null_gnu_versym();
    for (_, version) in symbols {
        let numbered = numbers().zip(versions).find(|(_, it)| Some(**it) == version.as_deref());
        let index = numbered.map_or(1, |(number, _)| number);
        out.write_gnu_versym(constants::VersionIndex(index).into());
    }
    let base = std::iter::once((1, name.as_bytes(), &names.own, constants::VER_FLG_BASE));
    let others = numbers().zip(versions).zip(&names.versions);
    let others = others.map(|((number, name), id)| (number, *name, id, constants::VersionFlags(0)));
    out.write_align_gnu_verdef();
    for (index, name, id, flags) in base.chain(others) {
        let offset = out.dynamic_string_offset(Some(*id));
        out.write_gnu_verdef(&Verdef {
            version: constants::VER_DEF_CURRENT,
            flags,
            index: constants::VersionIndex(index),
            aux_count: 1,
            name: offset,
            hash: constants::hash(name),
        });
    }
    Some(())
}

fn write_dynamic(out: &mut Writer<'_>, names: &Names, layout: &Layout) -> object::write::Result<()> {
    out.write_align_dynamic();
    out.write_dynamic_string(constants::DT_SONAME, names.own)?;
    for (tag, value) in &layout.entries {
        out.write_dynamic(*tag, *value)?;
    }
    out.write_dynamic(constants::DT_NULL, 0)
}

fn write_sections(out: &mut Writer<'_>, layout: &Layout) {
    let at = |tag| layout.entries.iter().find(|(it, _)| *it == tag).map_or(0, |(_, address)| *address);
    out.write_shstrtab();
    out.write_null_section_header();
    out.write_hash_section_header(at(constants::DT_HASH));
    // The null symbol alone is local.
    out.write_dynsym_section_header(at(constants::DT_SYMTAB), 1);
    out.write_dynstr_section_header(at(constants::DT_STRTAB));
    if layout.definitions > 0 {
        out.write_gnu_versym_section_header(at(constants::DT_VERSYM));
        out.write_gnu_verdef_section_header(at(constants::DT_VERDEF));
    }
    let sh_name = out.section_name_offset(Some(layout.text.0));
    out.write_section_header(&SectionHeader {
        sh_name,
        sh_type: constants::SHT_PROGBITS,
        sh_flags: constants::SHF_ALLOC | constants::SHF_EXECINSTR,
        sh_addr: layout.code,
        sh_offset: layout.code,
        sh_size: layout.code_len,
        sh_addralign: CODE_ALIGN,
        ..SectionHeader::default()
    });
    out.write_dynamic_section_header(layout.dynamic_address());
    out.write_shstrtab_section_header();
}
