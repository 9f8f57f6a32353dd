//! What we say ourselves: one line at a time, never in the middle of another's.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use crate::words::plain;

/// Where our lines go: standard error, or the file that `DISTCC_LOG` names.
#[derive(Debug)]
pub struct Voice {
    log: Option<Mutex<File>>,
    verbose: bool,
}

impl Voice {
    /// `verbose`: also what only matters when something is looked for.
    ///
    /// A log file that cannot be opened is no reason to fail a link: lines go to standard error then, the first of
    /// them saying so.
    pub fn new(log: Option<&Path>, verbose: bool) -> Self {
        match log.map(|path| (path, open(path))) {
            None => Self { log: None, verbose },
            Some((_, Ok(file))) => Self { log: Some(Mutex::new(file)), verbose },
            Some((path, Err(error))) => {
                let voice = Self { log: None, verbose };
                voice.say(format_args!("{}: cannot write the log: {}", path.display(), plain(&error)));
                voice
            }
        }
    }

    /// A line for everybody.
    pub fn say(&self, line: impl std::fmt::Display) {
        self.write(&format!("thinbridge: {line}\n"), false);
    }

    /// A line for those who asked for more.
    pub fn tell(&self, line: impl std::fmt::Display) {
        if self.verbose {
            self.say(line);
        }
    }

    /// Why the link fails: to standard error even when there is a log file.
    pub fn fail(&self, line: impl std::fmt::Display) {
        self.write(&format!("thinbridge: error: {line}\n"), true);
    }

    fn write(&self, text: &str, stderr_too: bool) {
        let logged = self.log.as_ref().is_some_and(|log| {
            let mut log = log.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            log.write_all(text.as_bytes()).is_ok()
        });
        // What the log does not take, its disk being full or nobody reading it, is told here.
        if !logged || stderr_too {
            let _ = io::stderr().lock().write_all(text.as_bytes());
        }
    }
}

/// Opens the log. If it is a named pipe, neither opening it nor writing to it waits for a reader.
fn open(path: &Path) -> io::Result<File> {
    let at_once = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    OpenOptions::new().append(true).create(true).custom_flags(at_once).open(path)
}

/// Passes a compiler's messages on, as they are, ended by a newline.
pub fn pass_on(words: &[u8]) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(words);
    if words.last().is_some_and(|last| *last != b'\n') {
        let _ = stderr.write_all(b"\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_a_pipe_which_nobody_reads_does_not_stop_us() {
        use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("log");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(Voice::new(Some(&pipe), false).log.is_none());
        // A reader that does not read: it fills up.
        let reader = rustix::fs::open(&pipe, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
        let mut log = open(&pipe).unwrap();
        let full = std::iter::repeat_with(|| log.write_all(&[b'\n'; 1000])).find_map(Result::err).unwrap();
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        drop(reader);
    }
}
