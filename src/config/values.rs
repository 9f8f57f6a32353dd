//! The parsers of the values: one each, whichever way the value came.

use std::time::Duration;

/// The most local slots that can be asked for: more than the processors of any machine that links.
pub(crate) const MAX_SLOTS: usize = 1024;

/// The longest silence that can be granted to a host, a day. Longer is as good as for ever, and a bound keeps sums of
/// times from overflowing.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether a job that was meant for a host may run locally when no host could do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// It may.
    Allowed,
    /// It may not: the link fails with exit status 3.
    Forbidden,
}

impl From<bool> for Fallback {
    fn from(on: bool) -> Self {
        if on { Self::Allowed } else { Self::Forbidden }
    }
}

/// A share of the jobs: a number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// None of the jobs.
    pub const NONE: Self = Self(0.0);
    /// All of the jobs.
    pub const ALL: Self = Self(1.0);

    /// Parses a number from 0 to 1; `None` for anything else, NaN included.
    pub fn parse(text: &str) -> Option<Self> {
        let number: f64 = text.trim().parse().ok()?;
        // Adding 0 turns -0 into 0.
        (0.0..=1.0).contains(&number).then_some(Self(number + 0.0))
    }

    /// The number, from 0 to 1.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether `part` of `whole` jobs are more than this share.
    pub fn is_exceeded(self, part: usize, whole: usize) -> bool {
        // Divided, not multiplied: 29 of 100 rounds to the very number that "0.29" parses to.
        whole > 0 && part as f64 / whole as f64 > self.0
    }

    /// Whether the job with this running number (from 0) belongs to the share: evenly spread, the same in every run.
    pub fn selects(self, number: usize) -> bool {
        let upto = |count: f64| (count * self.0).floor();
        upto(number as f64 + 1.0) > upto(number as f64)
    }
}

/// The command that starts ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshCommand {
    /// The program, looked up on the PATH.
    pub program: String,
    /// The arguments that come before ours.
    pub args: Vec<String>,
}

impl SshCommand {
    /// Splits a command at spaces, as distcc does: no quotes, no shell. `None` when there is no word.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().map(String::from);
        Some(Self { program: words.next()?, args: words.collect() })
    }
}

impl Default for SshCommand {
    fn default() -> Self {
        Self { program: "ssh".into(), args: Vec::new() }
    }
}

/// Puts a value that was accepted in its place, over an earlier one.
pub(crate) fn put<T>(place: &mut Option<T>, value: Option<T>) -> Option<()> {
    *place = Some(value?);
    Some(())
}

/// `on` or `off`.
pub(crate) fn switch(text: &str) -> Option<bool> {
    match text.trim() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// A number of local slots.
pub(crate) fn slots(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|slots| *slots <= MAX_SLOTS)
}

/// The name of a file: not empty, and without the NUL that no file name can hold.
pub(crate) fn file_name(text: &str) -> Option<String> {
    (!text.is_empty() && !text.contains('\0')).then(|| text.into())
}

/// Adds a host list to those of the same source. They stand on lines of their own, so that a comment in one does not
/// swallow the next.
pub(crate) fn append_hosts(hosts: &mut Option<String>, text: &str) -> Option<()> {
    match hosts {
        Some(hosts) => {
            hosts.push('\n');
            hosts.push_str(text);
        }
        None => *hosts = Some(text.into()),
    }
    Some(())
}

/// A time in whole seconds, at least one.
pub(crate) fn seconds(text: &str) -> Option<Duration> {
    let digits = text.trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Only a number that is too large is left to fail.
    let seconds = digits.parse().unwrap_or(u64::MAX);
    (seconds > 0).then(|| Duration::from_secs(seconds).min(MAX_TIMEOUT))
}
