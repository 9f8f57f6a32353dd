//! What there is to know of an ELF file without running it.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use object::elf as constants;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::read::{ReadCache, StringTable};
use object::{Endianness, FileKind};

use super::EnvironmentError;

type Data<'a> = &'a ReadCache<BufReader<File>>;

/// An ELF file that was opened.
pub(super) struct Elf {
    path: PathBuf,
    cache: ReadCache<BufReader<File>>,
    kind: FileKind,
}

/// What the headers say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// `e_machine`.
    pub(super) machine: u16,
    /// `PT_INTERP`: what starts it.
    pub(super) interpreter: Option<PathBuf>,
    /// `DT_NEEDED`: the libraries it needs.
    pub(super) needed: Vec<String>,
}

/// A symbol of the dynamic symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    /// Its name.
    pub(super) name: Vec<u8>,
    /// Its version, if it has one.
    pub(super) version: Option<Vec<u8>>,
    /// Where it is to come from, if it has a version and is undefined.
    pub(super) from: Option<Vec<u8>>,
    /// Whether it is defined here.
    pub(super) defined: bool,
    /// Whether it is a variable of each thread, for which no other can stand.
    pub(super) thread_local: bool,
}

/// Whether a program for this machine (`e_machine`) runs here, as far as the kind of machine goes.
pub(super) fn runs_here(machine: u16) -> bool {
    let own = match std::env::consts::ARCH {
        "x86_64" => [constants::EM_X86_64, constants::EM_386].as_slice(),
        "x86" => &[constants::EM_386],
        "aarch64" => &[constants::EM_AARCH64, constants::EM_ARM],
        "arm" => &[constants::EM_ARM],
        "riscv64" | "riscv32" => &[constants::EM_RISCV],
        "powerpc64" => &[constants::EM_PPC64],
        "s390x" => &[constants::EM_S390],
        "loongarch64" => &[constants::EM_LOONGARCH],
        // Starting it will tell.
        _ => return true,
    };
    own.iter().any(|own| own.0 == machine)
}

impl Elf {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is none; a script is told from other files, as that has a mend of its own.
    pub(super) fn open(path: &Path) -> Result<Self, EnvironmentError> {
        let unfit = |what: &str, mend| EnvironmentError::Unfit { path: path.to_owned(), what: what.into(), mend };
        let mut file = crate::files::open(path).map_err(EnvironmentError::reading(path))?;
        if !file.metadata().is_ok_and(|facts| facts.is_file()) {
            return Err(unfit("is not a file", "name the compiler's program"));
        }
        let mut start = [0; 2];
        if file.read_exact(&mut start).is_ok() && start == *b"#!" {
            return Err(unfit("is a script, which hosts cannot run", "name the compiler that it starts"));
        }
        let cache = ReadCache::new(BufReader::new(file));
        match FileKind::parse(&cache) {
            Ok(kind @ (FileKind::Elf32 | FileKind::Elf64)) => Ok(Self { path: path.to_owned(), cache, kind }),
            _ => Err(unfit("is not an ELF program", "name the compiler's program")),
        }
    }

    /// What the headers say.
    pub(super) fn facts(&self) -> Result<Facts, EnvironmentError> {
        let facts = match self.kind {
            FileKind::Elf32 => facts::<constants::FileHeader32<Endianness>>(&self.cache),
            _ => facts::<constants::FileHeader64<Endianness>>(&self.cache),
        };
        facts.map_err(|error| self.damaged(&error))
    }

    /// The dynamic symbols. Empty for a file without section headers, and for 32-bit ones.
    pub(super) fn symbols(&self) -> Result<Vec<Symbol>, EnvironmentError> {
        match self.kind {
            FileKind::Elf32 => Ok(Vec::new()),
            _ => symbols::<constants::FileHeader64<Endianness>>(&self.cache).map_err(|error| self.damaged(&error)),
        }
    }

    fn damaged(&self, error: &object::Error) -> EnvironmentError {
        let mend = "install it anew";
        EnvironmentError::Unfit { path: self.path.clone(), what: format!("is damaged ({error})"), mend }
    }
}

fn facts<E: FileHeader<Endian = Endianness>>(data: Data<'_>) -> object::Result<Facts> {
    let header = E::parse(data)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, data)?;
    let mut interpreter = None;
    let mut needed = Vec::new();
    for segment in segments {
        if let Some(name) = segment.interpreter(endian, data)? {
            interpreter = Some(PathBuf::from(text(name)));
        }
        if let Some(entries) = segment.dynamic(endian, data)? {
            needed = libraries::<E>(endian, entries, segments, data)?;
        }
    }
    Ok(Facts { machine: header.e_machine(endian).0, interpreter, needed })
}

/// The names of `DT_NEEDED`.
fn libraries<E: FileHeader<Endian = Endianness>>(
    endian: Endianness,
    entries: &[E::Dyn],
    segments: &[E::ProgramHeader],
    data: Data<'_>,
) -> object::Result<Vec<String>> {
    let all = || entries.iter().map(|entry| (entry.d_tag(endian), entry.d_val(endian).into()));
    let entries = || all().take_while(|(tag, _)| *tag != constants::DT_NULL);
    let value = |wanted| entries().find(|(tag, _)| *tag == wanted).map_or(0, |(_, value): (_, u64)| value);
    let (address, size) = (value(constants::DT_STRTAB), value(constants::DT_STRSZ));
    let offset = segments.iter().find_map(|segment| {
        let inside = address.checked_sub(segment.p_vaddr(endian).into())?;
        let (start, length) = segment.file_range(endian);
        let loaded = segment.p_type(endian) == constants::PT_LOAD && inside < length;
        loaded.then(|| start.checked_add(inside)).flatten()
    });
    let start = offset.unwrap_or_default();
    let strings = StringTable::new(data, start, start.saturating_add(size));
    let mut names = Vec::new();
    for (_, at) in entries().filter(|(tag, _)| *tag == constants::DT_NEEDED) {
        let name = u32::try_from(at).ok().and_then(|at| strings.get(at).ok());
        names.push(text(name.unwrap_or_default()));
    }
    Ok(names)
}

fn symbols<E: FileHeader<Endian = Endianness>>(data: Data<'_>) -> object::Result<Vec<Symbol>> {
    let header = E::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let versions = sections.versions(endian, data)?.unwrap_or_default();
    let table = sections.symbols(endian, data, constants::SHT_DYNSYM)?;
    let mut symbols = Vec::new();
    for (index, symbol) in table.enumerate() {
        let name = symbol.name(endian, table.strings())?;
        if name.is_empty() || symbol.is_local() {
            continue;
        }
        let version = versions.version(versions.version_index(endian, index).index())?;
        symbols.push(Symbol {
            name: name.to_vec(),
            version: version.map(|version| version.name().to_vec()),
            from: version.and_then(|version| version.file()).map(<[u8]>::to_vec),
            defined: !symbol.is_undefined(endian),
            thread_local: symbol.st_type() == constants::STT_TLS,
        });
    }
    Ok(symbols)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
