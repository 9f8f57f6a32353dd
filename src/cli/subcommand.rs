//! `thinbridge environment`: the one thing that is not a link.

use std::ffi::{OsStr, OsString};

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};

use super::{Request, explain, help};
use crate::config::{Packing, UsageError};

/// The word that must come first.
const NAME: &str = "environment";

/// The arguments after the word; `None`: another word comes first, or none.
pub(super) fn arguments(args: &[OsString]) -> Option<&[OsString]> {
    args.split_first().filter(|(first, _)| *first == NAME).map(|(_, rest)| rest)
}

/// Parses the arguments that follow the word.
pub(super) fn parse(args: &[OsString]) -> Result<Request, UsageError> {
    let matches = match command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => return Ok(Request::Help(help::text())),
        Err(error) => return Err(explain(&error, None)),
    };
    if let Some(stray) = matches.get_one::<OsString>("stray") {
        return Err(UsageError::CommandLine {
            what: format!("stray word '{}' after '{NAME}'", stray.to_string_lossy().escape_debug()),
            mend: "it takes only --compiler PATH and --output FILE".into(),
        });
    }
    let given = |name: &str| matches.get_many::<OsString>(name).and_then(Iterator::last);
    let compiler = given("compiler").map(|word| compiler(word)).transpose()?;
    let output = given("output").map(|word| not_empty("--output", word, "the name of a file")).transpose()?;
    Ok(Request::Environment(Packing { compiler, output: output.map(Into::into) }))
}

fn command() -> Command {
    let option = |name| Arg::new(name).long(name).action(ArgAction::Append).value_parser(ValueParser::os_string());
    Command::new(NAME)
        .no_binary_name(true)
        .disable_version_flag(true)
        .args(["compiler", "output"].map(option))
        .arg(Arg::new("stray").num_args(1..).value_parser(ValueParser::os_string()))
}

fn compiler(word: &OsStr) -> Result<String, UsageError> {
    let word = not_empty("--compiler", word, "the name of a program")?;
    word.to_str().map(str::to_owned).ok_or_else(|| UsageError::NotUtf8 { name: "--compiler".into() })
}

fn not_empty<'a>(name: &str, word: &'a OsStr, accepts: &str) -> Result<&'a OsStr, UsageError> {
    let empty = || UsageError::Value { name: name.into(), given: String::new(), accepts: accepts.into() };
    Some(word).filter(|word| !word.is_empty()).ok_or_else(empty)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn packing(words: &[&str]) -> Result<Packing, String> {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        match super::super::parse(words).map_err(|error| error.to_string())? {
            Request::Environment(packing) => Ok(packing),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_options_may_be_given_in_both_ways() {
        assert_eq!(packing(&["environment"]).unwrap(), Packing { compiler: None, output: None });
        let all = packing(&["environment", "--output", "-", "--compiler=/opt/my clang"]).unwrap();
        assert_eq!(all.compiler.as_deref(), Some("/opt/my clang"));
        assert_eq!(all.output.as_deref(), Some(Path::new("-")));
        let last = packing(&["environment", "--compiler", "a", "--compiler", "b"]).unwrap();
        assert_eq!(last.compiler.as_deref(), Some("b"));
    }

    #[test]
    fn everything_else_is_refused_with_a_mend() {
        for (words, expected) in [
            (&["environment", "clang"][..], "stray word 'clang' after 'environment'; it takes only"),
            (&["environment", "--compilr", "x"], "unknown option '--compilr'; did you mean '--compiler'?"),
            (&["environment", "--hosts=x"], "unknown option '--hosts'; 'thinbridge --help'"),
            (&["environment", "--compiler"], "--compiler has no value; expected"),
            (&["environment", "--compiler="], "--compiler=: expected the name of a program"),
            (&["environment", "--output="], "--output=: expected the name of a file"),
        ] {
            let error = packing(words).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_word_counts_only_in_the_first_place() {
        let words = ["--verbose=on", "environment"].map(OsString::from).to_vec();
        let Ok(Request::Run { json, .. }) = super::super::parse(words) else { panic!("not a link") };
        assert_eq!(json, Path::new("environment"));
    }
}
