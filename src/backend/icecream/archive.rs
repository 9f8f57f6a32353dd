//! The archive of an environment, as it is sent.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::words::plain;

/// An archive that was opened. Another process may remove it, or put another one in its place, when a compiler changes:
/// that does nothing to this one.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    file: File,
    length: u64,
    modified: SystemTime,
}

impl Archive {
    /// Opens it.
    ///
    /// # Errors
    /// It cannot be opened; in words for people.
    pub fn open(path: PathBuf) -> Result<Self, String> {
        let opened = File::open(&path).and_then(|file| {
            let facts = file.metadata()?;
            Ok((file, facts.len(), facts.modified()?))
        });
        match opened {
            Ok((file, length, modified)) => Ok(Self { path, file, length, modified }),
            Err(error) => Err(complaint(&path, &error)),
        }
    }

    /// At most `most` bytes that begin at `at`; none at the end. Blocks.
    ///
    /// # Errors
    /// They cannot be read, or somebody writes to the file; in words for people. Hosts would take a half of it for whole.
    pub(super) fn piece(&self, at: u64, most: usize) -> Result<Vec<u8>, String> {
        let left = usize::try_from(self.length.saturating_sub(at)).unwrap_or(usize::MAX);
        let mut piece = vec![0; left.min(most)];
        let read = self.file.read_exact_at(&mut piece, at);
        // Why it could not be read, if it has become shorter.
        let read = self.is_unchanged().and(read);
        read.map(|()| piece).map_err(|error| complaint(&self.path, &error))
    }

    fn is_unchanged(&self) -> io::Result<()> {
        let facts = self.file.metadata()?;
        match facts.len() == self.length && facts.modified()? == self.modified {
            true => Ok(()),
            false => Err(io::Error::other("it has changed meanwhile")),
        }
    }
}

fn complaint(path: &Path, error: &io::Error) -> String {
    format!("the environment cannot be read: {}: {}", path.to_string_lossy().escape_debug(), plain(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_to_its_end_whatever_becomes_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        std::fs::write(&path, "12345").unwrap();
        let archive = Archive::open(path.clone()).unwrap();
        std::fs::write(folder.path().join("other"), "67890").unwrap();
        std::fs::rename(folder.path().join("other"), path).unwrap();
        assert_eq!(archive.piece(0, 3).unwrap(), b"123");
        assert_eq!(archive.piece(3, 3).unwrap(), b"45");
        assert_eq!(archive.piece(5, 3).unwrap(), b"");
    }

    #[test]
    fn one_that_is_written_to_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        std::fs::write(&path, "12345").unwrap();
        let archive = Archive::open(path.clone()).unwrap();
        std::fs::write(&path, "123").unwrap();
        for at in [0, 5] {
            assert!(archive.piece(at, 3).unwrap_err().contains("it has changed meanwhile"));
        }
        assert!(Archive::open(folder.path().join("none")).unwrap_err().contains("none"));
    }
}
