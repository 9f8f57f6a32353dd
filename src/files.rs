//! Files that somebody else names: read with a cap, and never waited for.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file for reading. Does not wait for a writer where the name is that of a pipe.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let no_wait = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(no_wait).open(path)
}

/// The content of a file of `cap` bytes at most. `/dev/null`, or whatever device has nothing to say, is an empty one.
///
/// # Errors
/// The file is missing, unreadable, larger ([`io::ErrorKind::FileTooLarge`], nothing of it is kept), or a pipe or a
/// device that has no end.
pub fn read_at_most(path: &Path, cap: usize) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        let endless = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        // What a pipe holds at the moment depends on its writer, so not even an empty one is taken.
        let pipe = facts.file_type().is_fifo();
        return if pipe || file.read(&mut [0])? > 0 { Err(endless()) } else { Ok(Vec::new()) };
    }
    let limit = u64::try_from(cap).unwrap_or(u64::MAX);
    if facts.len() > limit {
        return Err(too_large(facts.len(), cap));
    }
    // A file may grow meanwhile, and those of /proc claim to be empty. The capacity for the end of the file spares
    // another allocation.
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(facts.len()).unwrap_or(cap).saturating_add(1))?;
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if read > cap { Err(too_large(limit.saturating_add(1), cap)) } else { Ok(bytes) }
}

fn too_large(bytes: u64, cap: usize) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("{bytes} bytes are too many; at most {cap} are read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_cap_and_none_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
        let error = read_at_most(&path, 4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "5 bytes are too many; at most 4 are read");
        std::fs::write(&path, "").unwrap();
        assert_eq!(read_at_most(&path, 0).unwrap(), b"");
    }

    #[test]
    fn the_cap_holds_where_the_size_is_not_known() {
        let path = Path::new("/proc/self/status");
        assert!(!read_at_most(path, 1 << 20).unwrap().is_empty());
        assert_eq!(read_at_most(path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_huge_file_is_refused_before_memory_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = read_at_most(&path, 1 << 30).unwrap_err();
        assert_eq!(error.to_string(), "1099511627776 bytes are too many; at most 1073741824 are read");
    }

    #[test]
    fn what_has_no_end_is_refused_at_once() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        for path in [&pipe, Path::new("/dev/zero")] {
            let error = read_at_most(path, usize::MAX).unwrap_err();
            assert_eq!(error.to_string(), "not a regular file", "{}", path.display());
        }
        assert_eq!(read_at_most(Path::new("/dev/null"), 1).unwrap(), b"");
        assert_eq!(read_at_most(folder.path(), 1).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(read_at_most(&folder.path().join("none"), 1).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
