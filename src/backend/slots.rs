//! Local compile slots, shared by all links of a user on this machine.
//!
//! A slot is a lock on a file in the user's runtime folder. The kernel drops the lock with its process, however that
//! ends, so no slot is ever lost.

mod capacity;
mod turn;

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

pub use capacity::default_count;
use turn::{Stopped, Turn};

use crate::words::plain;

/// Most slots there can be: what `--local-slots` accepts. More than the processors of any machine that links.
pub const MAX_COUNT: usize = crate::config::values::MAX_SLOTS;

/// Pause between two looks at the slots of other links, at the least. One thread of each waiting link looks, so this
/// costs nothing worth measuring, and a compile takes ten times as long and more.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Pause for each slot that is looked at, some fifty times what the look takes: many slots are looked at less often.
const LOOK_AGAIN_PER_SLOT: Duration = Duration::from_micros(100);

/// Descriptors that have to be free before a compile is begun beside others: three pipes, of which both ends exist for a
/// moment, its process, its lock, and as many again for objects that are written meanwhile.
const SPARE_DESCRIPTORS: u64 = 16;

/// The slots of this user on this machine.
#[derive(Clone, Debug)]
pub struct Slots {
    folder: Option<PathBuf>,
    count: usize,
    shared: Arc<Shared>,
}

/// What the threads of this link share.
#[derive(Debug, Default)]
struct Shared {
    /// Held by the one thread that looks for a slot.
    looking: Mutex<Stopped>,
    /// Every held slot has a clone of it.
    held: Arc<()>,
}

/// A held slot; free again when dropped.
#[derive(Debug, Default)]
pub struct Slot {
    _lock: Option<File>,
    _held: Arc<()>,
}

impl Slots {
    /// `count` slots, of 1 to [`MAX_COUNT`], whose locks are in `folder`; `None`: only this link counts.
    pub fn new(folder: Option<PathBuf>, count: usize) -> Self {
        Self { folder, count: count.clamp(1, MAX_COUNT), shared: Arc::default() }
    }

    /// Waits until one of the slots is free and takes it. Blocks its thread; waiters of all links take turns.
    ///
    /// While this process is short of descriptors the link gets one slot at a time: the end of its compile makes room.
    ///
    /// Without a lock file (folder gone, disk full, no descriptor left) the slot is granted unlocked: counting within
    /// the link is left.
    pub fn take(&self) -> Slot {
        let mut stopped = self.shared.looking.lock().unwrap_or_else(PoisonError::into_inner);
        while self.held() > 0 && !descriptors_suffice() {
            thread::sleep(LOOK_AGAIN);
        }
        let lock = self.folder.as_deref().and_then(|folder| self.take_in(folder, &mut stopped).ok());
        Slot { _lock: lock, _held: Arc::clone(&self.shared.held) }
    }

    /// How many slots this link has.
    fn held(&self) -> usize {
        Arc::strong_count(&self.shared.held).saturating_sub(1)
    }

    fn take_in(&self, folder: &Path, stopped: &mut Stopped) -> io::Result<File> {
        let pause = LOOK_AGAIN.max(LOOK_AGAIN_PER_SLOT * self.count as u32);
        let mut turn = Turn::of(folder, self.count)?;
        loop {
            if turn.has_come(stopped)?
                && let Some(slot) = self.free(folder)?
            {
                return Ok(slot);
            }
            thread::sleep(pause);
        }
    }

    /// A slot that is free at this moment. The last ones first: links with fewer slots have only the first ones.
    fn free(&self, folder: &Path) -> io::Result<Option<File>> {
        for index in (0..self.count).rev() {
            // Opened one at a time: descriptors can be few.
            let slot = open(&folder.join(index.to_string()))?;
            match slot.try_lock() {
                Ok(()) => return Ok(Some(slot)),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Whether there are descriptors for one more compile.
fn descriptors_suffice() -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    match fs::read_dir("/proc/self/fd") {
        Ok(open) => (open.count() as u64).saturating_add(SPARE_DESCRIPTORS) <= limit,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

/// The folder for the locks: `$XDG_RUNTIME_DIR`, the user's `/run/user` folder, or one in `/tmp` that belongs to the
/// user alone. Made when missing. The same for every link of the user, whatever it was started from: under `sudo -E` the
/// variable names another user's folder, in which nothing is made.
///
/// # Errors
/// None of them can be used; the text says why for the last.
pub fn folder(runtime_dir: Option<&Path>) -> Result<PathBuf, String> {
    let user = rustix::process::geteuid().as_raw();
    let run_user = PathBuf::from(format!("/run/user/{user}"));
    let bases = [runtime_dir.map(Path::to_owned), Some(run_user)].into_iter().flatten();
    for base in bases.filter(|base| fs::metadata(base).is_ok_and(|facts| is_own(&facts, user))) {
        if let Ok(folder) = own_folder(&base.join("thinbridge"), user) {
            return own_folder(&folder.join("slots"), user);
        }
    }
    own_folder(&PathBuf::from(format!("/tmp/thinbridge-{user}")), user)
        .and_then(|folder| own_folder(&folder.join("slots"), user))
}

/// Makes the folder, for this user alone, or finds it so. In `/tmp` others could have made it first.
pub(crate) fn own_folder(folder: &Path, user: u32) -> Result<PathBuf, String> {
    let fault = |error: io::Error| format!("{}: {}", folder.display(), plain(&error));
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(fault(error)),
        _ => {}
    }
    if !is_own(&fs::symlink_metadata(folder).map_err(fault)?, user) {
        return Err(format!("{}: not a folder that only this user can write", folder.display()));
    }
    Ok(folder.to_owned())
}

/// Whether these are the facts of a folder that only this user can write.
pub(crate) fn is_own(facts: &Metadata, user: u32) -> bool {
    facts.is_dir() && facts.uid() == user && facts.mode() & 0o022 == 0
}
