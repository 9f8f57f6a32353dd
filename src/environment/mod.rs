//! The icecream environment: the compiler of this machine, packed so that it runs on any host of its kind.
//!
//! What goes in is found out from the compiler itself (`compiler`, `libraries`), laid out with the entry program and
//! without dead weight (`contents`, `standin`), tried (`proof`), packed (`archive`) and kept for the next link (`cache`).

use std::path::{Path, PathBuf};

use compiler::Compiler;
pub use error::EnvironmentError;

mod archive;
mod cache;
pub mod command;
mod compiler;
mod contents;
mod elf;
mod error;
mod libraries;
mod proof;
mod run;
mod standin;
#[cfg(test)]
mod tests;

pub use cache::cache_folder;
pub use compiler::default_compiler;

/// The program that stands in for the compiler in every environment: `integration/entry`, static, of this version.
const ENTRY: &[u8] = include_bytes!(env!("THINBRIDGE_ENTRY"));

/// A compiler, packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// What hosts know it by: the compiler's name and version and a digest of all content.
    pub name: String,
    /// The archive, a `.tar.zst`. Another process may remove it once the compiler has changed; who has it open keeps it.
    pub archive: PathBuf,
    /// The icecream name of the platform it runs on, such as `x86_64`.
    pub platform: String,
    /// Length of the archive in bytes.
    pub packed: u64,
    /// Length of all files in it, in bytes.
    pub unpacked: u64,
    /// The shared libraries that were left out, because code generation never calls them, by their names.
    pub left_out: Vec<String>,
}

/// The environment of the compiler that these words start, if it was made before and nothing has changed. Takes no time.
///
/// # Errors
/// See [`EnvironmentError`].
pub fn kept(words: &[String], cache: &Path) -> Result<Option<Environment>, EnvironmentError> {
    let compiler = Compiler::find(words, std::env::var_os("PATH").as_deref())?;
    Ok(cache::kept(&compiler, cache))
}

/// The environment of the compiler that these words start. Taken from `cache` ([`cache_folder`]) when it was made before
/// and nothing has changed; made and kept there otherwise, which takes a second or two. Blocks.
///
/// Where `cache` cannot be written, or others than this user can write there, it is made in a folder for temporary files that belongs to this user alone.
///
/// # Errors
/// See [`EnvironmentError`].
pub fn obtain(words: &[String], cache: &Path) -> Result<Environment, EnvironmentError> {
    let compiler = Compiler::find(words, std::env::var_os("PATH").as_deref())?;
    match cache::obtain(&compiler, cache) {
        Err(EnvironmentError::Unwritable { path, error }) => {
            let unwritable = |_| EnvironmentError::Unwritable { path, error };
            cache::obtain(&compiler, &cache::temporary_folder().map_err(unwritable)?)
        }
        obtained => obtained,
    }
}
