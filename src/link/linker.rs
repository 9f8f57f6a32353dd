//! The linker's own command line: that of the process that started us.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::dropped::{self, Dropped};

/// Response files inside response files; LLVM itself follows 20.
const MAX_DEPTH: usize = 20;

/// Arguments of a link, response files included; the largest known have some hundred thousand.
const MAX_ARGUMENTS: usize = 4_000_000;

/// What the linker was told that its distributed backends never hear of, if the process that started us is a linker
/// with a distributor and can be looked at. `forwarded`: the common arguments of the jobs.
pub fn dropped_options(forwarded: &[String]) -> Vec<Dropped> {
    let parent = std::os::unix::process::parent_id();
    let Ok(command_line) = fs::read(format!("/proc/{parent}/cmdline")) else { return Vec::new() };
    let folder = PathBuf::from(format!("/proc/{parent}/cwd"));
    let mut arguments = Vec::new();
    for argument in command_line.split(|byte| *byte == 0) {
        expand(argument, &folder, 0, &mut arguments);
    }
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
    let read = File::open(profile).and_then(|mut file| file.read_exact(&mut start));
    read.is_err() || dropped::is_context_sensitive(&start).unwrap_or(true)
}

/// Adds the argument, or what the response file that it names holds.
fn expand(argument: &[u8], folder: &Path, depth: usize, arguments: &mut Vec<Vec<u8>>) {
    if arguments.len() >= MAX_ARGUMENTS {
        return;
    }
    let response = argument.strip_prefix(b"@").filter(|_| depth < MAX_DEPTH).and_then(|name| read(folder, name).ok());
    match response {
        Some(text) => words(&text).iter().for_each(|word| expand(word, folder, depth + 1, arguments)),
        None => arguments.push(argument.to_owned()),
    }
}

fn read(folder: &Path, name: &[u8]) -> io::Result<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    let path = folder.join(std::ffi::OsStr::from_bytes(name));
    // A pipe cannot be read twice: what the linker has had from it is gone.
    if fs::metadata(&path)?.is_file() { fs::read(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
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

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
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
        fs::write(folder.path().join("outer"), "-O2 @inner @missing").unwrap();
        fs::write(folder.path().join("inner"), "x.o @inner").unwrap();
        let mut arguments = Vec::new();
        expand(b"@outer", folder.path(), 0, &mut arguments);
        assert_eq!(arguments.first().map(Vec::as_slice), Some(&b"-O2"[..]));
        assert_eq!(arguments.last().map(Vec::as_slice), Some(&b"@missing"[..]));
        assert!(arguments.contains(&b"@inner".to_vec()), "the depth is bounded");
    }
}
