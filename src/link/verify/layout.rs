//! How the parts of an object share its bytes.

use std::fmt;

use super::flaw::Flaw;

/// A part of an object file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Part {
    /// The file header.
    Header,
    /// The section header table.
    SectionTable,
    /// The contents of the section with this index.
    Section(u32),
    /// The relocations of the COFF section with this index.
    Relocations(u32),
    /// The line numbers of the COFF section with this index.
    LineNumbers(u32),
    /// The COFF symbol table.
    SymbolTable,
    /// The COFF string table.
    StringTable,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("the file header"),
            Self::SectionTable => f.write_str("the section table"),
            Self::Section(index) => write!(f, "section {index}"),
            Self::Relocations(index) => write!(f, "the relocations of section {index}"),
            Self::LineNumbers(index) => write!(f, "the line numbers of section {index}"),
            Self::SymbolTable => f.write_str("the symbol table"),
            Self::StringTable => f.write_str("the string table"),
        }
    }
}

/// The parts of one file, collected to see that together they are the whole file.
pub(super) struct Layout {
    size: u64,
    parts: Vec<(u64, u64, Part)>,
}

impl Layout {
    /// For a file of `size` bytes and room for about `parts` parts.
    pub(super) fn new(size: usize, parts: usize) -> Self {
        Self { size: size as u64, parts: Vec::with_capacity(parts) }
    }

    /// Takes up a part of `length` bytes from `offset` on. An empty part takes no room, wherever it is said to be.
    pub(super) fn add(&mut self, part: Part, offset: u64, length: u64) -> Result<(), Flaw> {
        if length == 0 {
            return Ok(());
        }
        let end = offset.saturating_add(length);
        if end > self.size {
            return Err(Flaw::Truncated { part, end, size: self.size });
        }
        self.parts.push((offset, end, part));
        Ok(())
    }

    /// No byte belongs to two parts, and the last part ends where the file does. Padding between parts is allowed.
    pub(super) fn check(mut self) -> Result<(), Flaw> {
        // Compilers write parts in order, so that this sort is one pass.
        self.parts.sort_by_key(|&(start, ..)| start);
        let mut last = (0, Part::Header);
        for (start, end, part) in self.parts {
            if start < last.0 {
                return Err(Flaw::Overlap { first: last.1, second: part });
            }
            last = (end, part);
        }
        match self.size.saturating_sub(last.0) {
            0 => Ok(()),
            bytes => Err(Flaw::Trailing { bytes }),
        }
    }
}
