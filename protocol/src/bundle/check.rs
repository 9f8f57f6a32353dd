//! What both ends hold arguments and files against.

use std::fmt;

use super::{
    FileFact, MAX_ARGUMENT_LEN, MAX_ARGUMENTS, MAX_COMPONENT_LEN, MAX_CONTENT_LEN, MAX_DEPTH, MAX_FILES, MAX_HEAD_LEN,
    MAX_NAME_LEN,
};

/// What is wrong with the arguments or the files of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There are more than [`MAX_ARGUMENTS`].
    TooManyArguments {
        /// How many.
        count: usize,
    },
    /// An argument is longer than [`MAX_ARGUMENT_LEN`].
    ArgumentTooLong {
        /// Its number, from 0.
        index: usize,
        /// Its length in bytes.
        length: usize,
    },
    /// An argument contains a zero byte, which no program can be given.
    ArgumentWithNul {
        /// Its number, from 0.
        index: usize,
    },
    /// There are more than [`MAX_FILES`].
    TooManyFiles {
        /// How many.
        count: usize,
    },
    /// A name that is not that of a file below the job's folder.
    Name {
        /// The name.
        name: Vec<u8>,
        /// What is wrong with it.
        reason: BadName,
    },
    /// The contents are longer than [`MAX_CONTENT_LEN`].
    ContentTooLong,
    /// The head is longer than [`MAX_HEAD_LEN`].
    HeadTooLong {
        /// Its length in bytes.
        length: usize,
    },
}

/// What the name of a file must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadName {
    /// Longer than [`MAX_NAME_LEN`].
    TooLong,
    /// It has a component longer than [`MAX_COMPONENT_LEN`].
    ComponentTooLong,
    /// It has more than [`MAX_DEPTH`] components.
    TooDeep,
    /// It contains a zero byte.
    ZeroByte,
    /// It starts with `/`.
    Absolute,
    /// It is empty, or one of its components is.
    Empty,
    /// It has `.` or `..` among its components.
    Dots,
    /// Another file has the same name.
    Twice,
    /// It is a folder of another file's name.
    Folder,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyArguments { count } => write!(f, "{count} arguments, at most {MAX_ARGUMENTS} are taken"),
            Self::ArgumentTooLong { index, length } => {
                write!(f, "argument {index} has {length} bytes, at most {MAX_ARGUMENT_LEN} are taken")
            }
            Self::ArgumentWithNul { index } => write!(f, "argument {index} contains a zero byte"),
            Self::TooManyFiles { count } => write!(f, "{count} files, at most {MAX_FILES} are taken"),
            Self::Name { name, reason } => write!(f, "the file name \"{}\" {reason}", shown(name)),
            Self::ContentTooLong => write!(f, "the files are longer than {MAX_CONTENT_LEN} bytes together"),
            Self::HeadTooLong { length } => {
                write!(f, "arguments and file names take {length} bytes, at most {MAX_HEAD_LEN} are taken")
            }
        }
    }
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "is longer than {MAX_NAME_LEN} bytes"),
            Self::ComponentTooLong => write!(f, "has a component longer than {MAX_COMPONENT_LEN} bytes"),
            Self::TooDeep => write!(f, "has more than {MAX_DEPTH} components"),
            Self::ZeroByte => f.write_str("contains a zero byte"),
            Self::Absolute => f.write_str("starts with \"/\""),
            Self::Empty => f.write_str("has an empty component"),
            Self::Dots => f.write_str("has the component \".\" or \"..\""),
            Self::Twice => f.write_str("is given twice"),
            Self::Folder => f.write_str("is also a folder of another file"),
        }
    }
}

/// A name for people: not longer than they would read.
fn shown(name: &[u8]) -> std::slice::EscapeAscii<'_> {
    name.get(..200).unwrap_or(name).escape_ascii()
}

/// Everything that must hold before a byte is sent, or a file is created.
pub(super) fn check(arguments: &[impl AsRef<[u8]>], files: &[FileFact]) -> Result<(), Flaw> {
    if arguments.len() > MAX_ARGUMENTS {
        return Err(Flaw::TooManyArguments { count: arguments.len() });
    }
    for (index, argument) in arguments.iter().map(AsRef::as_ref).enumerate() {
        if argument.len() > MAX_ARGUMENT_LEN {
            return Err(Flaw::ArgumentTooLong { index, length: argument.len() });
        }
        if argument.contains(&0) {
            return Err(Flaw::ArgumentWithNul { index });
        }
    }
    if files.len() > MAX_FILES {
        return Err(Flaw::TooManyFiles { count: files.len() });
    }
    let mut total: u64 = 0;
    for file in files {
        check_name(&file.name).map_err(|reason| Flaw::Name { name: file.name.clone(), reason })?;
        total = total.checked_add(file.size).filter(|sum| *sum <= MAX_CONTENT_LEN).ok_or(Flaw::ContentTooLong)?;
    }
    check_apart(files)
}

fn check_name(name: &[u8]) -> Result<(), BadName> {
    if name.len() > MAX_NAME_LEN {
        return Err(BadName::TooLong);
    }
    if name.contains(&0) {
        return Err(BadName::ZeroByte);
    }
    if name.starts_with(b"/") {
        return Err(BadName::Absolute);
    }
    let components = || name.split(|&byte| byte == b'/');
    if components().count() > MAX_DEPTH {
        return Err(BadName::TooDeep);
    }
    for component in components() {
        match component {
            b"" => return Err(BadName::Empty),
            b"." | b".." => return Err(BadName::Dots),
            long if long.len() > MAX_COMPONENT_LEN => return Err(BadName::ComponentTooLong),
            _ => {}
        }
    }
    Ok(())
}

/// No name is given twice, and none is the folder of another.
fn check_apart(files: &[FileFact]) -> Result<(), Flaw> {
    // With '/' before all other bytes, what lies in a folder follows it directly.
    let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    let mut names: Vec<&[u8]> = files.iter().map(|file| file.name.as_slice()).collect();
    names.sort_unstable_by(|a, b| a.iter().map(key).cmp(b.iter().map(key)));
    for pair in names.windows(2) {
        let &[name, next] = pair else { continue };
        let reason = match next.strip_prefix(name) {
            Some([]) => BadName::Twice,
            Some([b'/', ..]) => BadName::Folder,
            _ => continue,
        };
        return Err(Flaw::Name { name: name.to_vec(), reason });
    }
    Ok(())
}
