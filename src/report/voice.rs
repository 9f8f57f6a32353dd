//! What we say ourselves: one line at a time, never in the middle of another's.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

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
        let open = |path: &Path| OpenOptions::new().append(true).create(true).open(path);
        match log.map(|path| (path, open(path))) {
            None => Self { log: None, verbose },
            Some((_, Ok(file))) => Self { log: Some(Mutex::new(file)), verbose },
            Some((path, Err(error))) => {
                let voice = Self { log: None, verbose };
                voice.say(format_args!("{}: cannot write the log: {error}", path.display()));
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
        if let Some(log) = &self.log {
            let mut log = log.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            // Nobody is left to tell when the log itself fails.
            let _ = log.write_all(text.as_bytes());
        }
        if self.log.is_none() || stderr_too {
            let _ = io::stderr().lock().write_all(text.as_bytes());
        }
    }
}

/// Passes a compiler's messages on, as they are, ended by a newline.
pub fn pass_on(words: &[u8]) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(words);
    if words.last().is_some_and(|last| *last != b'\n') {
        let _ = stderr.write_all(b"\n");
    }
}
