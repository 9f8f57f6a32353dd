//! One job, from the bundle to the object.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use crate::compiler;
use crate::environment;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::layout;
use crate::object;

/// How much of unneeded input is read at once, in bytes: what a pipe holds.
const DRAIN_LEN: usize = 64 * 1024;

/// Does the job with the arguments that the compile server gives, of which only `-o` matters.
pub(crate) fn run(root: &Path, arguments: &[OsString]) -> ExitCode {
    let ended = match standard_input() {
        Ok(mut input) => {
            let ended = attempt(root, arguments, &mut input);
            drain(&mut input);
            ended
        }
        Err(error) => Err(Failure::Environment(format!("cannot read standard input: {error}"))),
    };
    ExitCode::from(match ended {
        Ok(status) => number(status),
        Err(failure) => failure.report(),
    })
}

fn attempt(root: &Path, arguments: &[OsString], input: &mut impl Read) -> Result<ExitStatus, Failure> {
    let output = output(arguments)?;
    let manifest = environment::read(root)?;
    environment::check(root, &manifest)?;
    let place = output.parent().unwrap_or(Path::new("/"));
    let folder = Folder::create(place)?;
    let given = layout::receive(input, &folder)?;
    let status = compiler::run(root, &manifest, &given, &folder)?;
    if status.success() {
        object::hand_over(&folder.object(), &output)?;
    }
    Ok(status)
}

/// Standard input without a buffer, as it is read in large pieces.
fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// The file after the last `-o`, absolute.
fn output(arguments: &[OsString]) -> Result<PathBuf, Failure> {
    let flag = arguments.iter().rposition(|argument| argument == OsStr::new("-o"));
    let file = flag.and_then(|flag| arguments.get(flag.saturating_add(1)));
    let file = file.filter(|file| !file.is_empty());
    let file = file.ok_or_else(|| Failure::Environment("the compile server named no output (-o)".into()))?;
    std::path::absolute(file).map_err(|error| Failure::Environment(format!("no working directory: {error}")))
}

/// Reads what is left of the input. The compile server waits until all of it is read, whatever became of the job, and
/// after a minute takes the machine to be out of memory.
fn drain(input: &mut impl Read) {
    let mut waste = vec![0; DRAIN_LEN];
    loop {
        match input.read(&mut waste) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}

/// The status that a shell would show.
fn number(status: ExitStatus) -> u8 {
    let signal = || status.signal().map(|signal| signal.saturating_add(128));
    status.code().or_else(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_the_last_one_named() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let given = words("-x c -o no.o -c - -o icecc-2_3a656873.o -no-canonical-prefixes");
        let here = std::env::current_dir().unwrap();
        assert_eq!(output(&given).unwrap(), here.join("icecc-2_3a656873.o"));
        assert_eq!(output(&words("-o /tmp/a.o")).unwrap(), Path::new("/tmp/a.o"));
        assert!(output(&words("-c -")).is_err());
        assert!(output(&words("-c - -o")).is_err());
    }

    #[test]
    fn a_death_is_told_as_a_shell_does() {
        assert_eq!(number(ExitStatus::from_raw(0)), 0);
        assert_eq!(number(ExitStatus::from_raw(70 << 8)), 70);
        assert_eq!(number(ExitStatus::from_raw(11)), 139);
    }
}
