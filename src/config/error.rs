//! What the user has to mend before a link can start.

use std::fmt;
use std::path::PathBuf;

/// A fault of the command line, the environment or a configuration file. Its text is one line that names the place,
/// what is wrong there and the mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageError {
    /// The command line is not understood.
    CommandLine {
        /// What is wrong.
        what: String,
        /// What to do about it.
        mend: String,
    },
    /// An option or a variable has a value that is not accepted.
    Value {
        /// The option or the variable.
        name: String,
        /// Its value.
        given: String,
        /// What is accepted instead.
        accepts: String,
    },
    /// Two settings that cannot both hold, wherever each comes from.
    Contradiction {
        /// Which they are, and why.
        what: String,
        /// What to do about it.
        mend: String,
    },
    /// An option or a variable has a value that is not UTF-8.
    NotUtf8 {
        /// The option or the variable.
        name: String,
    },
    /// A file cannot be read, or not be understood.
    File {
        /// The file.
        path: PathBuf,
        /// Where in the file, if it is a matter of its content.
        position: Option<Position>,
        /// What is wrong, and what is accepted.
        what: String,
    },
}

impl UsageError {
    /// The exit status of the program for every such error.
    pub const EXIT_STATUS: u8 = 2;
}

impl std::error::Error for UsageError {}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine { what, mend } | Self::Contradiction { what, mend } => write!(f, "{what}; {mend}"),
            Self::Value { name, given, accepts } => {
                write!(f, "{name}={}: expected {accepts}", given.escape_debug())
            }
            Self::NotUtf8 { name } => write!(f, "{name}: the value is not UTF-8; write it in UTF-8"),
            Self::File { path, position, what } => {
                write!(f, "{}", path.to_string_lossy().escape_debug())?;
                if let Some(position) = position {
                    write!(f, ":{position}")?;
                }
                write!(f, ": {what}")
            }
        }
    }
}

/// A place in a text file; lines and columns (in characters) count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Position {
    /// The place of the byte at `offset`; past the end counts as the end.
    pub fn of(text: &[u8], offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at.saturating_add(1));
        let in_line = before.get(line_start..).unwrap_or_default();
        Self {
            line: before.iter().filter(|&&byte| byte == b'\n').count().saturating_add(1),
            column: String::from_utf8_lossy(in_line).chars().count().saturating_add(1),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
