//! Runs the real compiler of the environment.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use thinbridge_protocol::manifest::Manifest;

use crate::environment::within;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::spawn;

/// Runs the compiler with the arguments of the bundle until it ends.
pub(crate) fn run(root: &Path, manifest: &Manifest, given: &[Vec<u8>], folder: &Folder) -> Result<ExitStatus, Failure> {
    let mut command = command(root, manifest);
    command.args(given.iter().map(|argument| OsStr::from_bytes(argument))).arg("-o").arg(folder.object());
    command.current_dir(folder.work()).env("HOME", folder.scratch()).env("TMPDIR", folder.scratch());
    let started = {
        let mut life = folder.hold();
        let child = spawn::in_own_group(&mut command).map_err(|error| cannot_start(manifest, &error))?;
        life.compiler = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        child
    };
    wait(started, folder).map_err(|error| Failure::Environment(format!("cannot wait for the compiler: {error}")))
}

/// Starts the compiler, and sees whether it comes as far as telling its version.
pub(crate) fn try_start(root: &Path, manifest: &Manifest) -> Result<(), Failure> {
    let mut command = command(root, manifest);
    command.arg("--version").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn::in_own_group(&mut command).map_err(|error| cannot_start(manifest, &error))?;
    let ended = child.wait_with_output().map_err(|error| cannot_start(manifest, &error))?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let said = said.lines().next().unwrap_or("it says nothing");
    Err(Failure::Environment(format!("{} --version failed ({}): {said}", manifest.compiler, ended.status)))
}

/// The compiler with nothing of the compile server's environment. Standard input is whatever it is here, at its end, as
/// there is no `/dev/null`.
fn command(root: &Path, manifest: &Manifest) -> Command {
    let mut command = Command::new(within(root, &manifest.compiler));
    command.args(&manifest.arguments).stdin(Stdio::inherit()).env_clear();
    command.env("PATH", "/usr/bin").env("LC_ALL", "C");
    // The programs' own way to their libraries, $ORIGIN, needs /proc.
    let folders: Vec<OsString> = manifest.folders.iter().map(|path| within(root, path).into_os_string()).collect();
    if !folders.is_empty() {
        command.env("LD_LIBRARY_PATH", folders.join(OsStr::new(":")));
    }
    command
}

fn cannot_start(manifest: &Manifest, error: &io::Error) -> Failure {
    let what = format!("cannot start {}: {error}", manifest.compiler);
    // More arguments than this system takes are no fault of the environment.
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => Failure::Bundle(what),
        _ => Failure::Environment(what),
    }
}

/// Waits in two steps, so that the number of a process that is gone is never sent a signal.
fn wait(mut child: Child, folder: &Folder) -> io::Result<ExitStatus> {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), ended).is_err_and(|error| error == rustix::io::Errno::INTR) {}
    }
    let mut life = folder.hold();
    life.compiler = None;
    child.wait()
}
