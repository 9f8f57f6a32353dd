//! Files mapped into memory. The only unsafe code of the crate.
#![allow(unsafe_code)]

use std::io;
use std::path::Path;

use bytes::Bytes;

use crate::files;

/// The content of a regular file, shared with the page cache. An empty file is an empty `Bytes`.
///
/// # Errors
/// The file is missing, unreadable or not a regular file.
pub(super) fn map(path: &Path) -> io::Result<Bytes> {
    let file = files::open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    if facts.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is read-only and private to this process. Its bytes are what the file holds at the time, and
    // nothing here depends on their staying the same: each reader checks bounds on what it reads. A file truncated
    // by somebody during the link would end the process with SIGBUS, as it would end the linker, which maps the same
    // files: the link fails, nothing wrong is published.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(Bytes::from_owner(map))
}
