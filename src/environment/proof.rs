//! Tries the compiler with the libraries that were chosen for its environment, before anything is packed.
//!
//! Users cannot have a root of their own, so the libraries are put in a folder where the dynamic linker looks first, and
//! it is asked whether it really takes all of them from there.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::EnvironmentError;
use super::compiler::{Compiler, Version};
use super::libraries;
use super::run::ask;
use super::standin::Choice;

/// Whether the compiler does the same with these libraries as with its own: says the same, and makes the same of an
/// empty program. All symbols are looked for, not only those that are needed for that. A folder in `place` is used for it.
pub(super) fn holds(
    compiler: &Compiler,
    version: &Version,
    choice: &Choice,
    place: &Path,
) -> Result<bool, EnvironmentError> {
    let Some(interpreter) = &compiler.interpreter else { return Ok(true) };
    let scratch = Scratch::new(place).map_err(EnvironmentError::writing(place))?;
    let folder = scratch.0.as_path();
    lay_out(choice, folder).map_err(EnvironmentError::writing(folder))?;
    if !takes_all(compiler, interpreter, choice, folder)? {
        return Ok(false);
    }
    let mut command = with_libraries(compiler.command(), folder);
    let answer = ask(command.arg("--version"))?;
    if !answer.status.success() || answer.stdout != version.text {
        return Ok(false);
    }
    let expected = empty_object(compiler.command(), folder)?;
    Ok(expected == empty_object(with_libraries(compiler.command(), folder), folder)?)
}

fn lay_out(choice: &Choice, folder: &Path) -> io::Result<()> {
    for (library, stand_in) in choice.libraries() {
        let place = folder.join(library.place().file_name().unwrap_or_default());
        match stand_in {
            Some(bytes) => fs::write(place, bytes)?,
            None => symlink(&library.path, place)?,
        }
    }
    Ok(())
}

fn with_libraries(mut command: Command, folder: &Path) -> Command {
    command.env("LD_LIBRARY_PATH", folder).env("LD_BIND_NOW", "1");
    command
}

/// Whether every library comes from the folder. One that another names by its path comes from there in the environment
/// too; nothing can stand in for it.
fn takes_all(
    compiler: &Compiler,
    interpreter: &Path,
    choice: &Choice,
    folder: &Path,
) -> Result<bool, EnvironmentError> {
    let mut command = with_libraries(Command::new(interpreter), folder);
    let answer = ask(command.arg("--list").arg(&compiler.program))?;
    let (found, missing) = libraries::parse(&answer.stdout);
    let kept = |path: &Path| choice.kept.iter().any(|library| library.name.starts_with('/') && library.path == path);
    let is_interpreter = |path: &Path| fs::canonicalize(path).ok() == fs::canonicalize(interpreter).ok();
    let expected = |path: &PathBuf| path.starts_with(folder) || kept(path) || is_interpreter(path);
    Ok(answer.status.success() && missing.is_none() && found.iter().all(|(_, path)| expected(path)))
}

/// The object of an empty program, and how the compiler ended. A stand-in for a compiler may make none, as long as it
/// does so both times.
fn empty_object(mut command: Command, folder: &Path) -> Result<(bool, Option<Vec<u8>>), EnvironmentError> {
    let object = folder.join("empty.o");
    let answer = ask(command.current_dir(folder).args(["-O2", "-x", "c", "-c", "/dev/null", "-o"]).arg(&object))?;
    let bytes = fs::read(&object).ok();
    let _ = fs::remove_file(&object);
    Ok((answer.status.success(), bytes))
}

/// A folder that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(place: &Path) -> io::Result<Self> {
        let folder = place.join(format!(".proof-{}.tmp", std::process::id()));
        // One of a process that was killed, and had the same number.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
