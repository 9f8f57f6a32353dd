//! The manifest of an icecream environment: what the entry program inside it must find there, and how it starts the
//! compiler.
//!
//! ```text
//! thinbridge environment 1
//! compiler /usr/lib/llvm-22/bin/clang
//! argument clang                         leading arguments, none or more
//! folder /usr/lib/llvm-22/lib            where shared libraries are, none or more
//! file 134024 DIGEST TAIL /usr/lib/llvm-22/bin/clang
//! end
//! ```
//!
//! A compile server whose disk is full installs an environment all the same, and gives every file its full size: the end
//! is then zero bytes. So a file has the BLAKE3 of its last [`TAIL_LEN`] bytes here, cheap enough to be looked at before
//! every job, besides that of the whole, which is looked at once.

use std::fmt::{self, Write};

#[cfg(test)]
mod tests;

/// Where the manifest is in the environment.
pub const PATH: &str = "/thinbridge.manifest";

/// Longest manifest in bytes. That of a compiler with twenty shared libraries has four thousand.
pub const MAX_LEN: usize = 1024 * 1024;

/// How much of the end of a file [`File::tail`] is of, in bytes: one page.
pub const TAIL_LEN: u64 = 4096;

const FIRST_LINE: &str = "thinbridge environment 1";
const LAST_LINE: &str = "end";

/// The manifest of an environment. All paths are absolute in the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The compiler.
    pub compiler: String,
    /// Arguments that come before those of the job: the tool's name for a program that is many.
    pub arguments: Vec<String>,
    /// The folders of the shared libraries.
    pub folders: Vec<String>,
    /// Every file, but not the manifest itself.
    pub files: Vec<File>,
}

/// A file of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// BLAKE3 of its content.
    pub digest: [u8; 32],
    /// BLAKE3 of its last [`TAIL_LEN`] bytes, or of all when it is shorter.
    pub tail: [u8; 32],
}

/// A manifest that is cut or not one: the number of the first line that is not understood, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLine(pub usize);

impl std::error::Error for BadLine {}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the manifest is missing or not understood", self.0)
    }
}

impl Manifest {
    /// The text. `None`: a path or an argument cannot be written, as it contains a line break or a path is not absolute.
    pub fn text(&self) -> Option<String> {
        let words = self.arguments.iter();
        let mut paths = std::iter::once(&self.compiler).chain(&self.folders).chain(self.files.iter().map(|f| &f.path));
        if words.clone().any(|word| word.contains('\n')) || !paths.all(|path| is_path(path)) {
            return None;
        }
        let mut text = format!("{FIRST_LINE}\ncompiler {}\n", self.compiler);
        // Writing to a string does not fail.
        words.for_each(|word| _ = writeln!(text, "argument {word}"));
        self.folders.iter().for_each(|path| _ = writeln!(text, "folder {path}"));
        for File { path, size, digest, tail } in &self.files {
            _ = writeln!(text, "file {size} {} {} {path}", Hex(digest), Hex(tail));
        }
        text.push_str(LAST_LINE);
        text.push('\n');
        Some(text)
    }

    /// Reads the text back.
    ///
    /// # Errors
    /// The text is not what [`Self::text`] wrote, or ends too early.
    pub fn parse(text: &[u8]) -> Result<Self, BadLine> {
        let mut manifest = Self::default();
        let mut begun = false;
        let mut next = 1;
        for (number, line) in (1_usize..).zip(text.split(|&byte| byte == b'\n')) {
            next = number.saturating_add(1);
            let line = std::str::from_utf8(line).map_err(|_| BadLine(number))?;
            match line.split_once(' ') {
                None if line == LAST_LINE && !manifest.compiler.is_empty() => return Ok(manifest),
                _ if !begun && line == FIRST_LINE => begun = true,
                Some((key, value)) if begun => manifest.add(key, value).ok_or(BadLine(number))?,
                _ => return Err(BadLine(number)),
            }
        }
        Err(BadLine(next))
    }

    fn add(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "compiler" => self.compiler = path(value)?,
            "argument" => self.arguments.push(value.to_owned()),
            "folder" => self.folders.push(path(value)?),
            "file" => self.files.push(file(value)?),
            _ => return None,
        }
        Some(())
    }
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && !path.contains(['\n', '\0'])
}

fn path(text: &str) -> Option<String> {
    is_path(text).then(|| text.to_owned())
}

fn file(text: &str) -> Option<File> {
    let mut words = text.splitn(4, ' ');
    let size = words.next()?.parse().ok()?;
    let digest = parse_hex(words.next()?)?;
    let tail = parse_hex(words.next()?)?;
    Some(File { path: path(words.next()?)?, size, digest, tail })
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    let pairs = text.as_bytes().chunks(2);
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(pairs) {
        // Signs are digits to from_str_radix, so look first.
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(digest)
}
