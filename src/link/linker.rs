//! The linker's own command line: that of the process that started us.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::dropped::{self, Dropped};
use crate::files;
use crate::words::contains;

/// Response files inside response files; LLVM itself follows 20.
const MAX_DEPTH: usize = 20;

/// Arguments of a link, response files included; the largest known have some hundred thousand.
const MAX_ARGUMENTS: usize = 4_000_000;

/// The largest command line that is looked at, 64 MiB: Linux allows a quarter of the stack, of which 8 MiB are usual.
const MAX_COMMAND_LINE_BYTES: usize = 64 << 20;

/// What all response files of a link hold together, 512 MiB: as many arguments as are read, of 128 bytes each.
const MAX_RESPONSE_BYTES: usize = 512 << 20;

/// What the linker was told that its distributed backends never hear of, if the process that started us is a linker
/// with a distributor and can be looked at. `forwarded`: the common arguments of the jobs.
pub fn dropped_options(forwarded: &[String]) -> Vec<Dropped> {
    let parent = std::os::unix::process::parent_id();
    let command_line = files::read_at_most(Path::new(&format!("/proc/{parent}/cmdline")), MAX_COMMAND_LINE_BYTES);
    let Ok(command_line) = command_line else { return Vec::new() };
    let folder = PathBuf::from(format!("/proc/{parent}/cwd"));
    let mut expansion = Expansion::new(&folder, MAX_RESPONSE_BYTES);
    for argument in command_line.split(|byte| *byte == 0) {
        expansion.add(argument, 0);
    }
    let arguments = expansion.arguments;
    if !arguments.iter().any(|argument| contains(argument, b"thinlto-distributor")) {
        return Vec::new();
    }
    let mut options = dropped::dropped(&arguments, forwarded);
    options.retain(|option| option.profile.as_deref().is_none_or(|profile| is_for_backends(&folder.join(profile))));
    options
}

/// Whether a profile is one that only backends use. One that cannot be read is taken for such.
fn is_for_backends(profile: &Path) -> bool {
    let mut start = [0; 16];
    let read = files::open(profile).and_then(|mut file| file.read_exact(&mut start));
    read.is_err() || dropped::is_context_sensitive(&start).unwrap_or(true)
}

/// A command line whose response files are replaced by what they hold.
struct Expansion<'a> {
    /// The linker's working folder.
    folder: &'a Path,
    arguments: Vec<Vec<u8>>,
    /// Bytes of response files that may still be read.
    bytes_left: usize,
}

impl<'a> Expansion<'a> {
    fn new(folder: &'a Path, bytes_left: usize) -> Self {
        Self { folder, arguments: Vec::new(), bytes_left }
    }

    /// Adds the argument, or what the response file that it names holds.
    fn add(&mut self, argument: &[u8], depth: usize) {
        if self.arguments.len() >= MAX_ARGUMENTS {
            return;
        }
        match argument.strip_prefix(b"@").filter(|_| depth < MAX_DEPTH).and_then(|name| self.read(name)) {
            Some(text) => words(&text).iter().for_each(|word| self.add(word, depth + 1)),
            None => self.arguments.push(argument.to_owned()),
        }
    }

    /// A pipe is not read: what the linker has had from it is gone.
    fn read(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        let text = files::read_at_most(&self.folder.join(OsStr::from_bytes(name)), self.bytes_left).ok()?;
        self.bytes_left = self.bytes_left.saturating_sub(text.len());
        Some(text)
    }
}

/// Splits a response file as GNU tools do: at white space, with quotes and backslashes.
fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => word.get_or_insert_default().extend(bytes.next()),
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_files_are_split_as_the_linker_splits_them() {
        let text = b"a.o 'b c.o'\n\"d\\\"e\".o f\\ g.o '' 'h\\i'";
        let split = words(text);
        let expected: [&[u8]; 6] = [b"a.o", b"b c.o", b"d\"e.o", b"f g.o", b"", b"h\\i"];
        assert_eq!(split, expected);
    }

    #[test]
    fn response_files_are_followed_but_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("outer"), "-O2 @inner @missing").unwrap();
        std::fs::write(folder.path().join("inner"), "x.o @inner").unwrap();
        let mut expansion = Expansion::new(folder.path(), MAX_RESPONSE_BYTES);
        expansion.add(b"@outer", 0);
        let arguments = expansion.arguments;
        assert_eq!(arguments.first().map(Vec::as_slice), Some(&b"-O2"[..]));
        assert_eq!(arguments.last().map(Vec::as_slice), Some(&b"@missing"[..]));
        assert!(arguments.contains(&b"@inner".to_vec()), "the depth is bounded");
    }

    #[test]
    fn response_files_together_are_read_up_to_a_cap() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "a.o").unwrap();
        let mut expansion = Expansion::new(folder.path(), 8);
        (0..3).for_each(|_| expansion.add(b"@a", 0));
        assert_eq!(expansion.arguments, [&b"a.o"[..], b"a.o", b"@a"]);
    }
}
