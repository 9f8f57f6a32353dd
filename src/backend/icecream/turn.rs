//! Whose turn it is to ask a scheduler: the links of a user on one machine together count as one submitter.
//!
//! The scheduler serves submitters in turn, and takes each of our connections for one. So only one link has unanswered
//! requests at a time: the one that holds the lock on the file `now`. The link that is to have it next holds the lock on
//! `next`, which the holder can see. Kernels drop the locks of a process that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// How long a link keeps its unanswered requests while another link waits.
const TURN: Duration = Duration::from_secs(1);

/// How long a link that has one of the files may give no sign of life. It gives many in a second, so it is stopped then
/// (Ctrl-Z, a debugger) and is not waited for.
const STOPPED: Duration = Duration::from_secs(3);

/// How often a link that waits, or holds the turn, has to look.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The locks, and how far this link has come in getting them.
#[derive(Debug)]
pub(super) struct Turn {
    files: Option<Files>,
    state: State,
}

#[derive(Debug)]
struct Files {
    now: PathBuf,
    next: PathBuf,
}

/// The files are locked, or were taken past a stopped link that has the lock. Either way signs of life are on them.
#[derive(Debug)]
enum State {
    /// Nothing is wanted.
    Idle,
    /// Wants to be the next to hold the turn.
    Queueing { ahead: Watch },
    /// Is the next to hold the turn.
    Waiting { next: File, holder: Watch },
    /// Holds the turn.
    Holding { now: File, behind: Watch, awaited_since: Option<Instant> },
}

/// What a link may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum May {
    /// Have as many unanswered requests as it likes.
    Ask,
    /// Have no requests yet.
    Wait,
    /// Keep what it has, and ask for nothing more.
    Keep,
    /// Withdraw all, and look again at once.
    Withdraw,
}

impl Turn {
    /// The turn at this scheduler. `folder`: where the user's locks are; `None`: this link does not know of others.
    pub(super) fn at(folder: Option<&Path>, scheduler: SocketAddr) -> Self {
        let file =
            |folder: &Path, what| folder.join(format!("icecream-{}-{}-{what}", scheduler.ip(), scheduler.port()));
        let files = folder.map(|folder| Files { now: file(folder, "now"), next: file(folder, "next") });
        Self { files, state: State::Idle }
    }

    /// Looks at the locks; never waits. `wanted`: there is something to ask for. `unanswered`: requests that wait for an
    /// answer.
    ///
    /// # Errors
    /// The locks cannot be used. From now on this link does not know of others.
    pub(super) fn look(&mut self, wanted: bool, unanswered: usize, now: Instant) -> io::Result<May> {
        let Some(files) = &self.files else { return Ok(May::Ask) };
        let step = step(files, std::mem::replace(&mut self.state, State::Idle), wanted, unanswered, now);
        match step {
            Ok((state, may)) => {
                self.state = state;
                Ok(may)
            }
            Err(error) => {
                self.files = None;
                Err(error)
            }
        }
    }

    /// Whether looking again may find something else.
    pub(super) fn changes(&self) -> bool {
        !matches!(self.state, State::Idle)
    }
}

fn step(files: &Files, state: State, wanted: bool, unanswered: usize, at: Instant) -> io::Result<(State, May)> {
    match state {
        State::Holding { now, behind, awaited_since } => {
            hold(files, now, behind, awaited_since, wanted, unanswered, at)
        }
        _ if !wanted => Ok((State::Idle, May::Wait)),
        State::Idle => queue(files, Watch::new(at), at),
        State::Queueing { ahead } => queue(files, ahead, at),
        State::Waiting { next, holder } => wait(files, next, holder, at),
    }
}

fn queue(files: &Files, mut ahead: Watch, at: Instant) -> io::Result<(State, May)> {
    match take(&files.next, &mut ahead, at)? {
        Some(next) => wait(files, next, Watch::new(at), at),
        None => Ok((State::Queueing { ahead }, May::Wait)),
    }
}

fn wait(files: &Files, next: File, mut holder: Watch, at: Instant) -> io::Result<(State, May)> {
    give_sign(&next);
    match take(&files.now, &mut holder, at)? {
        Some(now) => Ok((State::Holding { now, behind: Watch::new(at), awaited_since: None }, May::Ask)),
        None => Ok((State::Waiting { next, holder }, May::Wait)),
    }
}

fn hold(
    files: &Files,
    now: File,
    mut behind: Watch,
    awaited_since: Option<Instant>,
    wanted: bool,
    unanswered: usize,
    at: Instant,
) -> io::Result<(State, May)> {
    if !wanted && unanswered == 0 {
        return Ok((State::Idle, May::Wait));
    }
    give_sign(&now);
    let nobody_waits = take(&files.next, &mut behind, at)?.is_some();
    if nobody_waits {
        return Ok((State::Holding { now, behind, awaited_since: None }, May::Ask));
    }
    if unanswered == 0 {
        return Ok((State::Idle, May::Wait));
    }
    let since = awaited_since.unwrap_or(at);
    let may = if at < since + TURN { May::Keep } else { May::Withdraw };
    Ok((State::Holding { now, behind, awaited_since: Some(since) }, may))
}

/// Without a sign the others stop waiting for this link, and nothing worse.
fn give_sign(file: &File) {
    let _ = file.set_modified(SystemTime::now());
}

/// The file, locked. If another link has it locked, the file only once that link is stopped; `None` until then.
fn take(path: &Path, other: &mut Watch, at: Instant) -> io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) if other.has_stopped(&file, at)? => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The signs of life on a file that another link has.
#[derive(Debug)]
struct Watch {
    /// The last one seen.
    sign: Option<SystemTime>,
    /// When it was seen first.
    since: Instant,
}

impl Watch {
    fn new(at: Instant) -> Self {
        Self { sign: None, since: at }
    }

    /// Looks for a new sign. The clocks of both links need not agree: a sign is new if it is another one.
    fn has_stopped(&mut self, file: &File, at: Instant) -> io::Result<bool> {
        let sign = Some(file.metadata()?.modified()?);
        if sign != self.sign {
            *self = Self { sign, since: at };
        }
        Ok(at >= self.since + STOPPED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(folder: &tempfile::TempDir) -> Turn {
        Turn::at(Some(folder.path()), "10.0.0.1:8765".parse().unwrap())
    }

    #[test]
    fn one_link_at_a_time_asks_and_passes_the_turn_on_when_it_has_its_answers() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, mut second, mut third) = (turn(&folder), turn(&folder), turn(&folder));
        let now = Instant::now();
        assert_eq!(first.look(true, 0, now).unwrap(), May::Ask);
        assert_eq!(second.look(true, 0, now).unwrap(), May::Wait);
        assert_eq!(third.look(true, 0, now).unwrap(), May::Wait);
        assert_eq!(first.look(true, 2, now).unwrap(), May::Keep);
        assert_eq!(first.look(true, 0, now).unwrap(), May::Wait);
        // Who has just had it queues behind those that wait.
        assert_eq!(first.look(true, 0, now).unwrap(), May::Wait);
        assert_eq!(second.look(true, 0, now).unwrap(), May::Ask);
        assert_eq!(third.look(true, 0, now).unwrap(), May::Wait);
    }

    #[test]
    fn unanswered_requests_are_withdrawn_after_a_second_if_somebody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, mut second) = (turn(&folder), turn(&folder));
        let now = Instant::now();
        assert_eq!(first.look(true, 0, now).unwrap(), May::Ask);
        assert_eq!(first.look(true, 3, now + 10 * TURN).unwrap(), May::Ask);
        assert_eq!(second.look(true, 0, now + 10 * TURN).unwrap(), May::Wait);
        assert_eq!(first.look(true, 3, now + 10 * TURN).unwrap(), May::Keep);
        assert_eq!(first.look(true, 3, now + 11 * TURN).unwrap(), May::Withdraw);
        assert_eq!(first.look(true, 0, now + 11 * TURN).unwrap(), May::Wait);
        assert_eq!(second.look(true, 0, now + 11 * TURN).unwrap(), May::Ask);
    }

    #[test]
    fn a_link_that_ends_or_wants_nothing_more_frees_the_turn() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, mut second, mut third) = (turn(&folder), turn(&folder), turn(&folder));
        let now = Instant::now();
        assert_eq!(first.look(true, 0, now).unwrap(), May::Ask);
        assert_eq!(first.look(false, 0, now).unwrap(), May::Wait);
        assert!(!first.changes());
        assert_eq!(second.look(true, 0, now).unwrap(), May::Ask);
        drop(second);
        assert_eq!(third.look(true, 0, now).unwrap(), May::Ask);
    }

    #[test]
    fn a_stopped_holder_is_not_waited_for_and_a_living_one_is() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, mut second) = (turn(&folder), turn(&folder));
        let now = Instant::now();
        assert_eq!(first.look(true, 0, now).unwrap(), May::Ask);
        assert_eq!(second.look(true, 0, now).unwrap(), May::Wait);
        assert_eq!(first.look(true, 1, now).unwrap(), May::Keep);
        assert_eq!(second.look(true, 0, now + STOPPED).unwrap(), May::Wait, "a sign came");
        assert_eq!(second.look(true, 0, now + STOPPED * 3 / 2).unwrap(), May::Wait);
        assert_eq!(second.look(true, 0, now + STOPPED * 2).unwrap(), May::Ask);
    }

    #[test]
    fn a_link_that_was_stopped_while_it_was_the_next_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, mut stopped, mut third) = (turn(&folder), turn(&folder), turn(&folder));
        let mut now = Instant::now();
        assert_eq!(first.look(true, 0, now).unwrap(), May::Ask);
        assert_eq!(stopped.look(true, 0, now).unwrap(), May::Wait);
        // The first does not yield for ever to who does not take the turn.
        let mut seen = [first.look(true, 1, now).unwrap(), third.look(true, 0, now).unwrap()];
        for _ in 0..STOPPED.as_millis() / LOOK_AGAIN.as_millis() + 1 {
            now += LOOK_AGAIN;
            seen = [first.look(true, 1, now).unwrap(), third.look(true, 0, now).unwrap()];
        }
        // Who comes after the stopped link is the next in its place, and in its turn.
        assert_eq!(seen[1], May::Wait);
        assert_ne!(first.look(true, 1, now).unwrap(), May::Ask, "nobody seems to wait");
        assert_eq!(first.look(true, 0, now).unwrap(), May::Wait);
        assert_eq!(third.look(true, 0, now).unwrap(), May::Ask);
    }

    #[test]
    fn a_stopped_link_that_waits_does_not_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, mut stopped) = (turn(&folder), turn(&folder));
        let now = Instant::now();
        assert_eq!(first.look(true, 0, now).unwrap(), May::Ask);
        assert_eq!(stopped.look(true, 0, now).unwrap(), May::Wait);
        assert_eq!(first.look(true, 1, now).unwrap(), May::Keep);
        assert_eq!(first.look(true, 1, now + STOPPED).unwrap(), May::Ask);
    }

    #[test]
    fn schedulers_have_turns_of_their_own_and_no_folder_means_no_turns() {
        let folder = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let mut one = turn(&folder);
        let mut other = Turn::at(Some(folder.path()), "10.0.0.2:8765".parse().unwrap());
        assert_eq!(one.look(true, 0, now).unwrap(), May::Ask);
        assert_eq!(other.look(true, 0, now).unwrap(), May::Ask);
        let mut alone = Turn::at(None, "10.0.0.1:8765".parse().unwrap());
        assert_eq!(alone.look(true, 0, now).unwrap(), May::Ask);
        let mut broken = Turn::at(Some(Path::new("/nonexistent/folder")), "10.0.0.1:8765".parse().unwrap());
        assert!(broken.look(true, 0, now).is_err());
        assert_eq!(broken.look(true, 0, now).unwrap(), May::Ask);
    }
}
