//! Who of the waiting links looks for a free slot.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use super::open;

/// How long the holder of the turn may give no sign of life. One that looks gives ten a second at the least, so it is
/// stopped then (Ctrl-Z, a debugger), and the others go on without a turn.
const PATIENCE: Duration = Duration::from_secs(1);

/// The turn: a lock on a file whose time of modification is its holder's sign of life. It gives the next free slot to a
/// link that waits, not to the one whose compile just ended; the number of compilers does not hang on it.
#[derive(Debug)]
pub(super) struct Turn {
    file: File,
    held: bool,
    /// The last sign of another holder, and since when there was no other.
    sign: Option<SystemTime>,
    since: Instant,
}

/// The last sign of a holder that was found stopped: it is not waited for twice.
pub(super) type Stopped = Option<SystemTime>;

impl Turn {
    /// The turn of all links that have `count` slots. Those with fewer may wait where others need not.
    pub(super) fn of(folder: &Path, count: usize) -> io::Result<Self> {
        let file = open(&folder.join(format!("turn-{count}")))?;
        Ok(Self { file, held: false, sign: None, since: Instant::now() })
    }

    /// Whether to look for a slot now; asked anew before each look.
    pub(super) fn has_come(&mut self, stopped: &mut Stopped) -> io::Result<bool> {
        if self.hold()? {
            // Without the sign the others stop waiting for us, and nothing worse.
            let _ = self.file.set_modified(SystemTime::now());
            return Ok(true);
        }
        let sign = Some(self.file.metadata()?.modified()?);
        if sign != self.sign {
            self.sign = sign;
            self.since = Instant::now();
        }
        if self.since.elapsed() >= PATIENCE {
            *stopped = sign;
        }
        Ok(*stopped == sign)
    }

    fn hold(&mut self) -> io::Result<bool> {
        if !self.held {
            self.held = match self.file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => return Err(error),
            };
        }
        Ok(self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_that_gives_signs_is_waited_for_and_a_stopped_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut stopped = None;
        let mut holder = Turn::of(folder.path(), 3).unwrap();
        assert!(holder.has_come(&mut None).unwrap());
        let mut other = Turn::of(folder.path(), 3).unwrap();
        assert!(!other.has_come(&mut stopped).unwrap());
        // Long ago, but the holder gave a sign since then.
        let long_ago = Instant::now().checked_sub(2 * PATIENCE).unwrap();
        other.since = long_ago;
        assert!(holder.has_come(&mut None).unwrap());
        assert!(!other.has_come(&mut stopped).unwrap());
        other.since = long_ago;
        assert!(other.has_come(&mut stopped).unwrap());
        // The next does not wait for it at all, until it goes on.
        let mut next = Turn::of(folder.path(), 3).unwrap();
        assert!(next.has_come(&mut stopped).unwrap());
        assert!(holder.has_come(&mut None).unwrap());
        assert!(!next.has_come(&mut stopped).unwrap());
        drop(holder);
        assert!(next.has_come(&mut stopped).unwrap());
    }
}
