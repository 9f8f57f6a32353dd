//! What can be wrong with an object, in words for the user.

use std::error::Error;
use std::fmt;

use super::layout::Part;

/// Why an object is refused.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Flaw {
    /// The compiler reported a ThinLTO backend failure, which it does with exit status 0.
    BackendError {
        /// The line it wrote, shortened when long.
        line: String,
    },
    /// There is not a byte of it.
    Empty,
    /// Neither ELF nor COFF.
    NotAnObject {
        /// Its first bytes, at most four.
        start: Vec<u8>,
    },
    /// An object for another machine, class, byte order or file format.
    WrongMachine {
        /// What the target triple asks for.
        expected: String,
        /// What came.
        found: String,
    },
    /// A part of the file ends behind the file's end.
    Truncated {
        /// Which part.
        part: Part,
        /// Where it would end, in bytes from the start; `u64::MAX` when that cannot be said in 64 bits.
        end: u64,
        /// The file's size in bytes.
        size: u64,
    },
    /// Two parts of the file claim the same bytes.
    Overlap {
        /// The part that starts first.
        first: Part,
        /// The part that starts inside it.
        second: Part,
    },
    /// Bytes behind the last part.
    Trailing {
        /// How many.
        bytes: u64,
    },
    /// A header field holds a value that a compiler never writes there.
    Header {
        /// The field's name in the format's specification.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// A section header contradicts the rest of the file.
    Section {
        /// The section's index.
        index: u32,
        /// What is wrong.
        fault: &'static str,
    },
    /// A symbol contradicts the rest of the file.
    Symbol {
        /// The symbol's index.
        index: u32,
        /// What is wrong.
        fault: &'static str,
    },
    /// A relocation contradicts the rest of the file.
    Relocation {
        /// The section that holds it (ELF) or that it belongs to (COFF).
        section: u32,
        /// Its place in that section.
        index: u64,
        /// What is wrong.
        fault: &'static str,
    },
    /// The object was compiled from another source file.
    WrongSource {
        /// The module's source name.
        expected: String,
        /// The first one that the object names.
        found: String,
    },
    /// The ELF flags are not those of another object of the link. On machines whose flags follow the module that is
    /// no fault; here it calls for a local compile.
    OtherFlags {
        /// The other object's `e_flags`.
        expected: u32,
        /// This one's.
        found: u32,
    },
    /// Symbols that the module's summary promises are not defined: an object of another job, or compiled under a
    /// wrong module name.
    MissingDefinitions {
        /// How many.
        count: usize,
        /// The GUID of one of them.
        guid: u64,
    },
}

impl Error for Flaw {}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BackendError { line } => write!(f, "the compiler reported a failure and exited 0: {line}"),
            Self::Empty => f.write_str("the object is empty"),
            Self::NotAnObject { start } => {
                write!(f, "not an object: it starts with {}", start.escape_ascii())
            }
            Self::WrongMachine { expected, found } => write!(f, "the object is {found}, not {expected}"),
            Self::Truncated { part, end: u64::MAX, size } => {
                write!(
                    f,
                    "the object is cut off or damaged: {part} ends beyond any file, the object after {size} bytes"
                )
            }
            Self::Truncated { part, end, size } => {
                write!(f, "the object is cut off: {part} ends at byte {end}, the object at byte {size}")
            }
            Self::Overlap { first, second } => write!(f, "the object is damaged: {second} lies inside {first}"),
            Self::Trailing { bytes } => write!(f, "{bytes} bytes stand behind the end of the object"),
            Self::Header { field, value } => write!(f, "the object's header is damaged: {field} is {value:#x}"),
            Self::Section { index, fault } => write!(f, "section {index} of the object is damaged: {fault}"),
            Self::Symbol { index, fault } => write!(f, "symbol {index} of the object is damaged: {fault}"),
            Self::Relocation { section, index, fault } => {
                write!(f, "relocation {index} of the object's section {section} is damaged: {fault}")
            }
            Self::WrongSource { expected, found } => {
                write!(f, "the object was compiled from {found:?}, the module from {expected:?}")
            }
            Self::OtherFlags { expected, found } => {
                write!(f, "e_flags are {found:#x}, those of another object of this link {expected:#x}")
            }
            Self::MissingDefinitions { count, guid } => {
                write!(f, "{count} symbols of the module are not defined in the object, one has the GUID {guid}")
            }
        }
    }
}
