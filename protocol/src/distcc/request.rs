//! A request: what a client wants compiled.

mod decode;

pub use decode::RequestDecoder;

use bytes::Bytes;

use super::Version;
use super::body::Compressed;
use super::error::{BadString, Unsendable};
use super::limits::{MAX_ARGUMENT_LEN, MAX_ARGUMENTS, MAX_FILES, MAX_NAME_LEN};
use super::token::Token;
use super::writer::{Encoded, Writer};

/// One job, as a client sends it. Strings are bytes as the operating system has them, without zero bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The command line; the first argument is the compiler.
    pub argv: Vec<Bytes>,
    /// What the compiler reads. It decides the protocol version.
    pub input: Input,
}

/// What the compiler reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Version 0: one preprocessed source, raw.
    V0(Bytes),
    /// Version 1: one preprocessed source, raw.
    V1(Bytes),
    /// Version 2: one preprocessed source, compressed.
    V2(Compressed),
    /// Version 3: files that the server puts into a folder of the job's own.
    V3 {
        /// The folder in which the compiler runs: starts with `/`, or is empty for `/`.
        cwd: Bytes,
        /// The files, in the order in which the server makes them.
        files: Vec<File>,
    },
}

/// A file of a version 3 request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Absolute path inside the job's folder, without `..`.
    pub name: Bytes,
    /// What is there.
    pub content: Content,
}

/// What stands at a file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A regular file with these bytes.
    Body(Compressed),
    /// A symbolic link with this target. An absolute one is taken to be inside the job's folder. A relative one may
    /// have `..`; a server that follows links has to see itself that they stay inside.
    Link(Bytes),
}

impl Request {
    /// The protocol version that the request is sent in.
    pub fn version(&self) -> Version {
        match self.input {
            Input::V0(_) => Version::V0,
            Input::V1(_) => Version::V1,
            Input::V2(_) => Version::V2,
            Input::V3 { .. } => Version::V3,
        }
    }

    /// The request as bytes. Bodies are lent, not copied.
    ///
    /// # Errors
    /// When a part is longer than a stock server can take, or a string is none that it would understand.
    pub fn encode(&self) -> Result<Encoded, Unsendable> {
        let mut writer = Writer::default();
        writer.number(Token::Dist, self.version().number());
        if let Input::V3 { cwd, .. } = &self.input {
            string(&mut writer, Token::Cdir, cwd)?;
        }
        writer.count(Token::Argc, self.argv.len(), MAX_ARGUMENTS)?;
        for argument in &self.argv {
            string(&mut writer, Token::Argv, argument)?;
        }
        match &self.input {
            Input::V0(source) | Input::V1(source) => writer.bulk(Token::Doti, source)?,
            Input::V2(source) => writer.bulk(Token::Doti, source.as_wire())?,
            Input::V3 { files, .. } => encode_files(&mut writer, files)?,
        }
        Ok(writer.finish())
    }
}

fn encode_files(writer: &mut Writer, files: &[File]) -> Result<(), Unsendable> {
    writer.count(Token::Nfil, files.len(), MAX_FILES)?;
    for file in files {
        string(writer, Token::Name, &file.name)?;
        match &file.content {
            Content::Body(body) => writer.bulk(Token::File, body.as_wire())?,
            Content::Link(target) => string(writer, Token::Link, target)?,
        }
    }
    Ok(())
}

fn string(writer: &mut Writer, token: Token, string: &[u8]) -> Result<(), Unsendable> {
    check_string(token, string).map_err(|reason| Unsendable::BadString { token, reason })?;
    writer.string(token, string, string_cap(token))
}

/// The greatest length of a string sent as `token`, in bytes.
fn string_cap(token: Token) -> usize {
    if token == Token::Argv { MAX_ARGUMENT_LEN } else { MAX_NAME_LEN }
}

/// Both ends hold strings to the same rules. Stock servers check less, and write to `/x/../../y` if told to.
fn check_string(token: Token, string: &[u8]) -> Result<(), BadString> {
    if string.contains(&0) {
        return Err(BadString::ZeroByte);
    }
    match token {
        Token::Cdir if string.is_empty() => Ok(()),
        Token::Cdir => check_path(string),
        Token::Name if string.ends_with(b"/") => Err(BadString::NotAFile),
        Token::Name => check_path(string),
        Token::Link if string.is_empty() => Err(BadString::Empty),
        _ => Ok(()),
    }
}

fn check_path(path: &[u8]) -> Result<(), BadString> {
    if !path.starts_with(b"/") {
        Err(BadString::NotAbsolute)
    } else if path.split(|&byte| byte == b'/').any(|component| component == b"..") {
        Err(BadString::ParentFolder)
    } else {
        Ok(())
    }
}
