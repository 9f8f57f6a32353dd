//! Puts the words of the command line in order before they are parsed: the job description is the last word, values
//! are attached to their options, and a host list that clang split at its commas is whole again.

use std::ffi::{OsStr, OsString};

use super::{Form, OPTIONS, OptionSpec};
use crate::config::UsageError;

/// How ld.lld ends the name of every job description. Such a last word is a file even if it starts with a dash.
const DESCRIPTION_SUFFIX: &[u8] = b".dist-file.json";

/// The command line, arranged.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// Options, each with its value in the same word where it has one.
    pub(super) options: Vec<OsString>,
    /// The last word, unless it is an option.
    pub(super) json: Option<OsString>,
    /// The first word that belongs to nothing.
    pub(super) stray: Option<OsString>,
}

/// Arranges the words that follow the program's name.
pub(super) fn arrange(mut args: Vec<OsString>) -> Words {
    let json = args.pop_if(|last| is_description(last)).or_else(|| after_dashes(&mut args));
    let mut options: Vec<OsString> = Vec::new();
    let mut stray = None;
    // Whether the last of `options` is a host list that the next word may continue.
    let mut open_list = false;
    let mut rest = args.into_iter().peekable();
    while let Some(mut word) = rest.next() {
        match option(&word) {
            Some((spec, has_value)) => {
                let value = if has_value { None } else { rest.next_if(|next| !is_ours(next)) };
                open_list = spec.form == Form::HostList && (has_value || value.is_some());
                if let Some(value) = value {
                    word.push("=");
                    word.push(value);
                }
                options.push(word);
            }
            None if word.as_encoded_bytes().starts_with(b"-") => {
                open_list = false;
                options.push(word);
            }
            None => match options.last_mut().filter(|_| open_list) {
                Some(list) => {
                    list.push(",");
                    list.push(word);
                }
                None => stray = stray.or(Some(word)),
            },
        }
    }
    Words { options, json, stray }
}

/// The error for a word that belongs to nothing, with how to write what was probably meant.
pub(super) fn stray(word: &OsStr) -> UsageError {
    let shown = word.to_string_lossy().escape_debug().to_string();
    if shown.ends_with(".json") {
        return UsageError::CommandLine {
            what: format!("'{shown}' is not the last word"),
            mend: "put the options first and the job description last".into(),
        };
    }
    UsageError::CommandLine {
        what: format!("stray word '{shown}' before the job description"),
        mend: "options start with '--'; clang splits -Xthinlto-distributor= at commas, so write a value with a comma \
               (other than a host list) as -Xlinker --thinlto-distributor-arg=--OPTION=VALUE"
            .into(),
    }
}

fn is_description(last: &OsStr) -> bool {
    let bytes = last.as_encoded_bytes();
    bytes.ends_with(DESCRIPTION_SUFFIX) || !(bytes.len() > 1 && bytes.starts_with(b"-"))
}

/// The last word if `--` stands before it: a file whatever its name is.
fn after_dashes(args: &mut Vec<OsString>) -> Option<OsString> {
    let before = args.len().checked_sub(2)?;
    let marked = args.get(before).is_some_and(|word| word == "--");
    if marked { args.pop() } else { None }
}

/// The option that a word names, and whether its value stands in the same word.
fn option(word: &OsStr) -> Option<(&'static OptionSpec, bool)> {
    let text = word.as_encoded_bytes().strip_prefix(b"--")?;
    let name = text.split(|&byte| byte == b'=').next()?;
    let spec = OPTIONS.iter().find(|option| option.name.as_bytes() == name)?;
    Some((spec, name.len() < text.len()))
}

/// Whether a word is an option of ours, and so not the value of the one before. A host list may start with a dash
/// (`--randomize`), so the dash alone does not tell.
fn is_ours(word: &OsStr) -> bool {
    option(word).is_some() || ["--help", "-h", "--version", "-V"].iter().any(|flag| word == *flag)
}
