//! What can be wrong with a job description.

use std::fmt;

use serde_json::Value;

use super::MAX_DESCRIPTION_BYTES;

/// A fault in the job description, which the linker, or whoever wrote the file, has to mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobError {
    /// The file is larger than any real description.
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The file is not JSON.
    NotJson {
        /// Line of the fault, from 1; 0 in an empty file.
        line: usize,
        /// Column of the fault, in bytes, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A field is missing.
    Missing {
        /// Which, such as `jobs[3].inputs`.
        place: String,
    },
    /// A value has the wrong type.
    WrongType {
        /// Which, such as `jobs[3].inputs[1]`.
        place: String,
        /// The type it must have.
        expected: Kind,
        /// The type it has.
        found: Kind,
    },
    /// There is no job.
    NoJobs,
    /// An array is too short.
    TooFew {
        /// Which.
        place: String,
        /// How many values it has.
        found: usize,
        /// What it must hold.
        needs: &'static str,
    },
    /// A string is empty.
    Empty {
        /// Which.
        place: String,
        /// What it must hold.
        needs: &'static str,
    },
    /// A string holds a NUL character.
    Nul {
        /// Which.
        place: String,
    },
    /// An output is written twice.
    SecondOutput {
        /// The second one, such as `jobs[3].outputs[0]`.
        place: String,
        /// The file's name.
        name: String,
    },
    /// A path is not UTF-8, so that the linker could not write its true name.
    NotUtf8 {
        /// The name as it stands in the description.
        name: String,
    },
}

impl JobError {
    pub(super) fn not_json(error: &serde_json::Error) -> Self {
        // The text ends with the place, which is kept apart.
        let text = error.to_string();
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        Self::NotJson { line: error.line(), column: error.column(), reason: reason.into() }
    }
}

impl std::error::Error for JobError {}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => {
                write!(f, "{bytes} bytes are too many for a job description; at most {MAX_DESCRIPTION_BYTES} are read")
            }
            Self::NotJson { line, column, reason } => write!(f, "line {line}, column {column}: not JSON: {reason}"),
            Self::Missing { place } => write!(f, "{place}: the field is missing"),
            Self::WrongType { place, expected, found } => write!(f, "{place}: expected {expected}, found {found}"),
            Self::NoJobs => f.write_str("jobs: there are no jobs in it"),
            Self::TooFew { place, found: 0, needs } => write!(f, "{place}: expected {needs}, found nothing"),
            Self::TooFew { place, found: 1, needs } => write!(f, "{place}: expected {needs}, found only one entry"),
            Self::TooFew { place, found, needs } => write!(f, "{place}: expected {needs}, found only {found} entries"),
            Self::Empty { place, needs } => write!(f, "{place}: expected {needs}, found an empty string"),
            Self::Nul { place } => write!(f, "{place}: holds a NUL character, which no file name or argument can"),
            Self::SecondOutput { place, name } => {
                write!(
                    f,
                    "{place}: '{}' is an output already; every output needs a name of its own",
                    name.escape_debug()
                )
            }
            Self::NotUtf8 { name } => write!(
                f,
                "the name '{}' is not UTF-8 on disk, and the linker cannot pass such names on; rename the file or its \
                 folder",
                name.escape_debug()
            ),
        }
    }
}

/// The types of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}
