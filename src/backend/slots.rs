//! Local compile slots, shared by all links of a user on this machine.
//!
//! A slot is a lock on a file in the user's runtime folder. The kernel drops the lock with its process, however that
//! ends, so no slot is ever lost.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Pause between two looks at the slots of other links. Only one waiter of all links looks, so this costs nothing
/// worth measuring, and a compile takes ten times as long and more.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Memory that a backend compile may need. rocksdb's take 95 to 141 MB; debug information and templates take more.
const MEMORY_PER_JOB: u64 = 512 << 20;

/// The slots of this user on this machine.
#[derive(Clone, Debug)]
pub struct Slots {
    folder: Option<PathBuf>,
    count: usize,
}

/// A held slot; free again when dropped.
#[derive(Debug, Default)]
pub struct Slot {
    _lock: Option<File>,
}

impl Slots {
    /// `count` slots, whose locks are in `folder`; `None`: only this link counts.
    pub fn new(folder: Option<PathBuf>, count: usize) -> Self {
        Self { folder, count }
    }

    /// Waits until one of the slots is free and takes it. Blocks its thread; waiters of all links take turns.
    ///
    /// Without a lock file (folder gone, disk full) the slot is granted unlocked: counting within the link is left.
    pub fn take(&self) -> Slot {
        Slot { _lock: self.folder.as_deref().and_then(|folder| self.take_in(folder).ok()) }
    }

    fn take_in(&self, folder: &Path) -> io::Result<File> {
        // Whoever holds the turn looks for a free slot; the others wait for the turn, in the order they came.
        let turn = open(&folder.join("turn"))?;
        turn.lock()?;
        let mut slots = (0..self.count).map(|n| open(&folder.join(n.to_string()))).collect::<io::Result<Vec<_>>>()?;
        loop {
            for index in 0..slots.len() {
                match slots[index].try_lock() {
                    Ok(()) => return Ok(slots.swap_remove(index)),
                    Err(TryLockError::WouldBlock) => {}
                    Err(TryLockError::Error(error)) => return Err(error),
                }
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

/// How many compilers this machine bears: the processors this process may use (affinity and cgroup quota counted), fewer
/// when memory (the cgroup's too) is short. At least 1.
pub fn default_count() -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let by_memory = available_memory().map_or(usize::MAX, |bytes| (bytes / MEMORY_PER_JOB) as usize);
    processors.min(by_memory).max(1)
}

fn available_memory() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| meminfo_available(&text));
    [system, cgroup_room()].into_iter().flatten().min()
}

fn meminfo_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What the tightest cgroup (version 2) above this process leaves, file cache counted as free.
fn cgroup_room() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    Path::new(path)
        .ancestors()
        .filter_map(|group| {
            let group = Path::new("/sys/fs/cgroup").join(group);
            let limit = number(group.join("memory.max"))?;
            let used = number(group.join("memory.current"))?;
            let cache = fs::read_to_string(group.join("memory.stat")).ok().and_then(|stat| inactive_file(&stat));
            Some(limit.saturating_sub(used.saturating_sub(cache.unwrap_or(0))))
        })
        .min()
}

fn inactive_file(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("inactive_file "))?.trim().parse().ok()
}

/// The folder for the locks: `$XDG_RUNTIME_DIR`, the user's `/run/user` folder, or one in `/tmp` that belongs to the
/// user alone. Made when missing. The same for every link of the user, whatever it was started from.
///
/// # Errors
/// None of them can be used; the text says why for the last.
pub fn folder(runtime_dir: Option<&Path>) -> Result<PathBuf, String> {
    let user = rustix::process::geteuid().as_raw();
    let run_user = PathBuf::from(format!("/run/user/{user}"));
    let bases = [runtime_dir.map(Path::to_owned), Some(run_user)];
    for base in bases.into_iter().flatten() {
        if let Ok(folder) = own_folder(&base.join("thinbridge"), user) {
            return own_folder(&folder.join("slots"), user);
        }
    }
    own_folder(&PathBuf::from(format!("/tmp/thinbridge-{user}")), user)
        .and_then(|folder| own_folder(&folder.join("slots"), user))
}

/// Makes the folder, for this user alone, or finds it so. In `/tmp` others could have made it first.
fn own_folder(folder: &Path, user: u32) -> Result<PathBuf, String> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(format!("{}: {error}", folder.display()));
        }
        _ => {}
    }
    let facts = fs::symlink_metadata(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if !facts.is_dir() || facts.uid() != user || facts.mode() & 0o022 != 0 {
        return Err(format!("{}: not a folder that only this user can write", folder.display()));
    }
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_held_by_one_and_free_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let slots = Slots::new(Some(folder.path().to_owned()), 1);
        let held = slots.take();
        let (sender, taken) = std::sync::mpsc::channel();
        let waiter = slots.clone();
        let thread = thread::spawn(move || {
            let slot = waiter.take();
            sender.send(()).unwrap();
            slot
        });
        let lock = open(&folder.path().join("0")).unwrap();
        assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        assert!(taken.try_recv().is_err());
        drop(held);
        taken.recv().unwrap();
        drop(thread.join().unwrap());
        lock.try_lock().unwrap();
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("slots");
        assert!(own_folder(&folder, rustix::process::geteuid().as_raw()).is_ok());
        assert!(own_folder(&folder, rustix::process::geteuid().as_raw() + 1).is_err());
    }

    #[test]
    fn a_link_in_place_of_the_folder_is_refused() {
        let base = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(base.path(), base.path().join("slots")).unwrap();
        assert!(own_folder(&base.path().join("slots"), rustix::process::geteuid().as_raw()).is_err());
    }

    #[test]
    fn memory_is_read_from_the_kernel_s_words() {
        assert_eq!(meminfo_available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(meminfo_available("MemTotal: 9 kB\n"), None);
        assert_eq!(inactive_file("anon 4\ninactive_file 77\n"), Some(77));
        assert!(default_count() >= 1);
    }
}
