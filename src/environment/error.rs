//! Why there is no environment.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::words::plain;

/// Why the compiler cannot be packed. The text names the thing, what is wrong with it and the mend.
#[derive(Debug)]
pub enum EnvironmentError {
    /// There is no such program.
    NotFound {
        /// The compiler as it was named.
        name: String,
    },
    /// The compiler is no program that can be packed.
    Unfit {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
        /// What to do about it.
        mend: &'static str,
    },
    /// The compiler needs a shared library that is not there.
    MissingLibrary {
        /// The compiler.
        compiler: PathBuf,
        /// The library.
        library: String,
    },
    /// A program that was asked something did not answer.
    NoAnswer {
        /// The command.
        command: String,
        /// What it did instead.
        what: String,
    },
    /// A file that has to go in cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The copy that was asked for cannot be written.
    Uncopied {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The environment cannot be kept.
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl EnvironmentError {
    /// For errors of reading `path`.
    pub(super) fn reading(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Unreadable { path: path.to_owned(), error }
    }

    /// For errors of writing the copy at `path`.
    pub(super) fn copying(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Uncopied { path: path.to_owned(), error }
    }

    /// For errors of writing `path`.
    pub(super) fn writing(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Unwritable { path: path.to_owned(), error }
    }
}

impl std::error::Error for EnvironmentError {}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| path.to_string_lossy().escape_debug().to_string();
        match self {
            Self::NotFound { name } => {
                write!(f, "there is no compiler '{}'; name one that exists", name.escape_debug())
            }
            Self::Unfit { path, what, mend } => write!(f, "{} {what}; {mend}", shown(path)),
            Self::MissingLibrary { compiler, library } => write!(
                f,
                "{} needs the shared library {}, which is not found; install it, or set LD_LIBRARY_PATH to its folder",
                shown(compiler),
                library.escape_debug()
            ),
            Self::NoAnswer { command, what } => write!(f, "'{}' {what}; does it run by hand?", command.escape_debug()),
            Self::Unreadable { path, error } => {
                write!(f, "cannot read {}: {}; it has to go into the environment", shown(path), plain(error))
            }
            Self::Uncopied { path, error } => {
                write!(f, "cannot write {}: {}; name another file with --output", shown(path), plain(error))
            }
            Self::Unwritable { path, error } => {
                write!(f, "cannot write {}: {}; make room there, or set XDG_CACHE_HOME", shown(path), plain(error))
            }
        }
    }
}
