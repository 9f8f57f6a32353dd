//! The folder of one job. Whatever ends the job, nothing of it is left: the folder is removed when the job is over, when
//! a signal comes, and where the program was killed outright by the next job.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal, test_kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// What the names of these folders start with; the process and a number follow.
const PREFIX: &str = "thinbridge.";

/// How many names are tried. Another one is only needed where a folder of an earlier process of this number is left.
const NAMES: u32 = 100;

/// How often removing is tried. It fails where the compiler, not quite dead yet, makes a file meanwhile.
const REMOVALS: u32 = 1000;

/// The folder of a job; removed when dropped.
pub(crate) struct Folder {
    path: PathBuf,
    life: Arc<Mutex<Life>>,
}

/// What there is to end.
#[derive(Default)]
pub(crate) struct Life {
    /// The compiler, which leads a process group.
    pub(crate) compiler: Option<Pid>,
}

impl Folder {
    /// Makes a fresh folder in `place`, and sees to it that it goes when a signal comes.
    pub(crate) fn create(place: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::Environment(format!("no folder for the job: {error}"));
        remove_leftovers(place);
        let life = Arc::<Mutex<Life>>::default();
        // From here on a signal only counts once somebody watches.
        let signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGQUIT]).map_err(failed)?;
        // When the compile server's part for this job dies nobody wants the object any more.
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
        let path = create(place).map_err(failed)?;
        let (watched, doomed) = (Arc::clone(&life), path.clone());
        let folder = Self { path, life };
        let watch = move || end_on_signal(signals, &doomed, &watched);
        thread::Builder::new().spawn(watch).map_err(failed)?;
        fs::create_dir(folder.work()).and_then(|()| fs::create_dir(folder.scratch())).map_err(failed)?;
        Ok(folder)
    }

    /// Where the bundle is laid out and the compiler runs.
    pub(crate) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// The compiler's home and folder for temporary files.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.path.join("scratch")
    }

    /// Where the compiler puts the object.
    pub(crate) fn object(&self) -> PathBuf {
        self.path.join("object.o")
    }

    /// While the result is held, no signal ends the program. Whoever makes a file or starts a process holds it: nothing
    /// is made in a folder that is just being removed.
    pub(crate) fn hold(&self) -> MutexGuard<'_, Life> {
        lock(&self.life)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _life = self.hold();
        if let Err(error) = remove(&self.path) {
            Failure::Environment(format!("{} is left behind: {error}", self.path.display())).report();
        }
    }
}

fn lock(life: &Mutex<Life>) -> MutexGuard<'_, Life> {
    life.lock().unwrap_or_else(PoisonError::into_inner)
}

fn create(place: &Path) -> io::Result<PathBuf> {
    let own = std::process::id();
    let mut number = 0;
    loop {
        let path = place.join(format!("{PREFIX}{own}.{number}"));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < NAMES => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Waits for a signal; then ends the compiler, the folder and the program.
fn end_on_signal(mut signals: Signals, folder: &Path, life: &Mutex<Life>) {
    let Some(signal) = signals.forever().next() else { return };
    let life = lock(life);
    if let Some(compiler) = life.compiler {
        let _ = kill_process_group(compiler, Signal::KILL);
    }
    let _ = remove(folder);
    std::process::exit(signal.saturating_add(128));
}

fn remove(folder: &Path) -> io::Result<()> {
    let mut attempts = 0;
    loop {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) if attempts < REMOVALS => attempts += 1,
            ended => return ended,
        }
        thread::yield_now();
    }
}

/// Removes the folders of processes that are no more.
fn remove_leftovers(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && name.to_str().and_then(owner).is_some_and(is_gone) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The process that a folder's name tells.
fn owner(name: &str) -> Option<Pid> {
    let (process, number) = name.strip_prefix(PREFIX)?.split_once('.')?;
    number.parse::<u32>().ok()?;
    Pid::from_raw(process.parse().ok().filter(|process| *process > 0)?)
}

fn is_gone(process: Pid) -> bool {
    test_kill_process(process) == Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_dead_are_removed_and_no_others() {
        let place = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let names = [format!("{PREFIX}{own}.0"), format!("{PREFIX}{dead}.x"), format!("other.{dead}.0")];
        let leftover = place.path().join(format!("{PREFIX}{dead}.3"));
        fs::create_dir_all(leftover.join("work")).unwrap();
        names.iter().for_each(|name| fs::create_dir(place.path().join(name)).unwrap());
        remove_leftovers(place.path());
        assert!(!leftover.exists());
        assert!(names.iter().all(|name| place.path().join(name).exists()));
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let first = create(place.path()).unwrap();
        let second = create(place.path()).unwrap();
        assert!(first.is_dir() && second.is_dir() && first != second);
    }
}
