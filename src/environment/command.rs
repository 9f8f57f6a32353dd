//! `thinbridge environment`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Environment, EnvironmentError, cache_folder, default_compiler, obtain};
use crate::config::Packing;

/// Exit status when there is no environment.
const FAILED: u8 = 1;

/// Makes the environment and prints what it is. Returns the exit status.
pub fn run(packing: &Packing) -> u8 {
    match pack(packing) {
        Ok((environment, place)) => {
            // A reader that has seen enough is no failure.
            let _ = io::stdout().write_all(text(&environment, &place).as_bytes());
            0
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "thinbridge: error: {error}");
            FAILED
        }
    }
}

fn pack(packing: &Packing) -> Result<(Environment, PathBuf), EnvironmentError> {
    let compiler = packing.compiler.clone().unwrap_or_else(default_compiler);
    let environment = obtain(&[compiler], &cache_folder())?;
    let place = match &packing.output {
        Some(output) => {
            copy(&environment.archive, output)?;
            output.clone()
        }
        None => environment.archive.clone(),
    };
    Ok((environment, place))
}

fn text(environment: &Environment, place: &Path) -> String {
    let Environment { name, packed, unpacked, .. } = environment;
    format!("path: {}\nname: {name}\npacked: {packed} bytes\nunpacked: {unpacked} bytes\n", place.display())
}

/// The copy appears whole or not at all, unless the output is a device or a pipe, which stays what it is.
fn copy(archive: &Path, output: &Path) -> Result<(), EnvironmentError> {
    let failed = EnvironmentError::copying(output);
    let mut source = File::open(archive).map_err(EnvironmentError::reading(archive))?;
    if fs::metadata(output).is_ok_and(|facts| !facts.is_file()) {
        let mut target = fs::OpenOptions::new().write(true).open(output).map_err(&failed)?;
        return io::copy(&mut source, &mut target).map(drop).map_err(failed);
    }
    let mut unfinished = output.as_os_str().to_owned();
    unfinished.push(format!(".{}.tmp", std::process::id()));
    let write = |mut target: File| {
        io::copy(&mut source, &mut target)?;
        fs::rename(&unfinished, output)
    };
    // Never through a link that somebody put there: the folder may be one in which all can write.
    let _ = fs::remove_file(&unfinished);
    let written = File::create_new(&unfinished).and_then(write);
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written.map_err(failed)
}
