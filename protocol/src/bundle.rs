//! The bundle: what one backend job sends to the entry program of an icecream environment, on the compiler's standard
//! input.
//!
//! ```text
//! bundle   = head content*            the contents in the order of the head's files, nothing between, nothing after
//! head     = "tbundle" version:u8 length:u32 body
//! body     = count:u32 argument* count:u32 file*        exactly `length` bytes
//! argument = length:u32 bytes
//! file     = length:u32 name size:u64 digest:[u8; 32]
//! ```
//!
//! Numbers are big endian. The arguments are the compiler's; the program itself, its libraries and the name of the
//! object are not in the bundle, because the environment and the compile server know them. The digest is BLAKE3 of the
//! content. As the head is apart from the contents, a content that many jobs need is compressed once for all of them.

use bytes::{BufMut, Bytes};

use check::check;
pub use check::{BadName, Flaw};
pub use read::{Head, MAX_HEAD_LEN, Malformed, PRELUDE_LEN, head_length};

mod check;
#[doc(hidden)]
pub mod fuzz;
mod read;
#[cfg(test)]
mod tests;

/// Exit status of the entry program: the bundle is not as described here, or did not arrive as it was sent.
pub const BAD_BUNDLE: u8 = 95;

/// Exit status of the entry program: files of the environment are missing or cut, or this host cannot lay out a job or
/// start the compiler.
pub const INCOMPLETE_ENVIRONMENT: u8 = 96;

/// Exit status of the entry program: the compiler claims success, but what it left is no object.
pub const BAD_OBJECT: u8 = 97;

/// Most arguments. A backend job has some dozens.
pub const MAX_ARGUMENTS: usize = 65_536;

/// Longest argument in bytes: Linux runs no program with a longer one (`MAX_ARG_STRLEN`, 32 pages with the final NUL).
pub const MAX_ARGUMENT_LEN: usize = 128 * 1024 - 1;

/// Most files. A module of a large program imports from some hundreds of others.
pub const MAX_FILES: usize = 65_536;

/// Longest name in bytes: below `PATH_MAX` of Linux by more than the name of the folder it is laid out in.
pub const MAX_NAME_LEN: usize = 3 * 1024;

/// Most components of a name. Each takes a descriptor while the files are removed, and of these a process usually has no
/// more than 1024.
pub const MAX_DEPTH: usize = 256;

/// Longest component of a name in bytes: `NAME_MAX` of Linux.
pub const MAX_COMPONENT_LEN: usize = 255;

/// Most bytes of all contents together. A job with all its imports is known to need a twentieth of that, and a compile
/// server holds them in memory.
pub const MAX_CONTENT_LEN: u64 = 4 * 1024 * 1024 * 1024;

/// What every line starts with that the entry program itself writes to stderr, so that its statuses are not taken for
/// those of the compiler.
pub const MESSAGE_PREFIX: &str = "thinbridge-entry: ";

const MAGIC: [u8; 7] = *b"tbundle";

/// The only version so far. Both ends are built together, so it only turns an accident into a clear error.
const VERSION: u8 = 1;

/// What the head says of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFact {
    /// Where the file is laid out: a path relative to the job's folder, without empty, `.` and `..` components.
    pub name: Vec<u8>,
    /// The length of the content in bytes.
    pub size: u64,
    /// BLAKE3 of the content.
    pub digest: [u8; 32],
}

/// Why a bundle cannot be made of these arguments and files: the fault of whoever made them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpackable(pub Flaw);

impl std::error::Error for Unpackable {}

impl std::fmt::Display for Unpackable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the job cannot be bundled: {}", self.0)
    }
}

/// All that comes before the contents.
///
/// # Errors
/// The arguments or the files are such that the other side would not take them.
pub fn head(arguments: &[impl AsRef<[u8]>], files: &[FileFact]) -> Result<Bytes, Unpackable> {
    check(arguments, files).map_err(Unpackable)?;
    let mut body = Vec::new();
    put_count(&mut body, arguments.len());
    for argument in arguments {
        put_bytes(&mut body, argument.as_ref());
    }
    put_count(&mut body, files.len());
    for file in files {
        put_bytes(&mut body, &file.name);
        body.put_u64(file.size);
        body.put_slice(&file.digest);
    }
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= MAX_HEAD_LEN);
    let length = length.ok_or(Unpackable(Flaw::HeadTooLong { length: body.len() }))?;
    let mut head = Vec::with_capacity(PRELUDE_LEN.saturating_add(body.len()));
    head.put_slice(&MAGIC);
    head.put_u8(VERSION);
    head.put_u32(length);
    head.append(&mut body);
    Ok(head.into())
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.put_slice(bytes);
}

/// A length or a number of items: small, as it was checked.
fn put_count(out: &mut Vec<u8>, count: usize) {
    out.put_u32(u32::try_from(count).unwrap_or(u32::MAX));
}
