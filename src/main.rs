//! The program `thinbridge`: a DTLTO distributor.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use thinbridge::config::{Invocation, MAX_FILE_BYTES, Settings, UsageError};
use thinbridge::distribute;
use thinbridge::environment::command;
use thinbridge::files::read_at_most;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).collect();
    match Settings::load(arguments, &|name| std::env::var_os(name), &|path| read_at_most(path, MAX_FILE_BYTES)) {
        Ok(Invocation::Help(text) | Invocation::Version(text)) => {
            // A reader that has seen enough is no failure.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Ok(Invocation::Environment(packing)) => ExitCode::from(command::run(&packing)),
        Ok(Invocation::Run(settings)) => ExitCode::from(distribute::run(&settings)),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "thinbridge: error: {error}");
            ExitCode::from(UsageError::EXIT_STATUS)
        }
    }
}
