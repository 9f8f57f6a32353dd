//! Objects under their output names: whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

/// Puts `object` under the name `output`, replacing what is there. On an error nothing of ours is left, and what was
/// there is untouched.
///
/// # Errors
/// The folder is missing, full or not writable.
pub fn publish(output: &Path, object: &[u8]) -> io::Result<()> {
    let folder = match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Not every file system has unnamed files, and without /proc none can be given a name.
    match unnamed(folder) {
        Ok(mut file) => {
            file.write_all(object)?;
            link(&file, output).or_else(|_| by_rename(output, object))
        }
        Err(_) => by_rename(output, object),
    }
}

/// A file without a name: the kernel frees it if we end before it gets one.
fn unnamed(folder: &Path) -> Result<File, Errno> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, folder, flags, Mode::from_raw_mode(0o666)).map(File::from)
}

fn link(file: &File, output: &Path) -> io::Result<()> {
    let source = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let link = |name: &Path| rustix::fs::linkat(CWD, &source, CWD, name, AtFlags::SYMLINK_FOLLOW);
    match link(output) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => {
            // A link never replaces; a rename does, in one step.
            let temporary = temporary_name(output);
            link(&temporary)?;
            rename(&temporary, output)
        }
        Err(error) => Err(error.into()),
    }
}

/// For file systems without unnamed files.
fn by_rename(output: &Path, object: &[u8]) -> io::Result<()> {
    let temporary = temporary_name(output);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    match file.write_all(object) {
        Ok(()) => rename(&temporary, output),
        Err(error) => {
            let _ = fs::remove_file(&temporary);
            Err(error)
        }
    }
}

fn rename(temporary: &Path, output: &Path) -> io::Result<()> {
    fs::rename(temporary, output).inspect_err(|_| {
        let _ = fs::remove_file(temporary);
    })
}

/// Beside the output, of this process and this call alone. The output's name is cut so that the whole is never too long.
fn temporary_name(output: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let mut name = b".thinbridge.".to_vec();
    let stem = output.file_name().map(|name| name.to_owned().into_vec()).unwrap_or_default();
    name.extend(stem.iter().take(128));
    name.extend(format!(".{}.{}", std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed)).into_bytes());
    output.with_file_name(OsString::from_vec(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn new_and_existing_names() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("lib.a(b.o at 110).2.o");
        publish(&output, b"first").unwrap();
        assert_eq!(fs::read(&output).unwrap(), b"first");
        publish(&output, b"second").unwrap();
        assert_eq!(fs::read(&output).unwrap(), b"second");
        assert_eq!(names(folder.path()).len(), 1);
    }

    #[test]
    fn the_way_without_unnamed_files() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("o".repeat(255));
        by_rename(&output, b"object").unwrap();
        assert_eq!(fs::read(&output).unwrap(), b"object");
        assert_eq!(names(folder.path()).len(), 1);
    }

    #[test]
    fn a_missing_folder_and_a_folder_in_place_of_the_output() {
        let folder = tempfile::tempdir().unwrap();
        assert!(publish(&folder.path().join("missing/a.o"), b"object").is_err());
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        assert!(publish(&taken, b"object").is_err());
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn a_name_without_a_folder_means_the_current_one() {
        assert_eq!(temporary_name(Path::new("a.o")).parent(), Some(Path::new("")));
    }
}
