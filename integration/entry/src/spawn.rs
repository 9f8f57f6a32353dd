//! Starts a process that does not outlive this one.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// Starts the command as the leader of a process group. It is killed when the thread that calls this ends, which must be
/// the main thread.
pub(crate) fn in_own_group(command: &mut Command) -> io::Result<Child> {
    command.process_group(0);
    let own = getpid();
    let bind = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A death before that gives no signal.
        if getppid() == Some(own) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec the closure only does system calls: it takes no lock and allocates nothing.
    unsafe { command.pre_exec(bind) };
    command.spawn()
}
