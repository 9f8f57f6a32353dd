//! The machines of a cluster: the client's, in which commands run, and those with a daemon.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::daemon::{Daemon, signal};
use crate::support::run;

/// Where hosts keep environments: `target=PLATFORM/NAME/…` in it.
const ENVIRONMENTS: &str = "/run/icecc-envs/base";

/// The client's machine, as a place to run commands in.
#[derive(Clone, Copy)]
pub(crate) struct Client {
    pub(super) process: u32,
}

impl Client {
    /// The same command, on the client's machine. What the user's environment says about icecream does not reach it.
    pub(crate) fn inside(self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        for (option, kind) in [("net", "net"), ("mount", "mnt")] {
            inside.arg(format!("--{option}=/proc/{}/ns/{kind}", self.process));
        }
        inside.args(["--", "env"]);
        // Entering loses the folder that one was in.
        if let Some(folder) = command.get_current_dir() {
            inside.arg("-C").arg(folder).current_dir(folder);
        }
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ICECC") || name == "USE_SCHEDULER" {
                inside.env_remove(name);
            }
        }
        inside.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside
    }

    /// Sets the cable at this address up or down.
    fn set_cable(self, address: &str, state: &str) {
        let number = address.rsplit('.').next().expect("an address");
        run(&mut self.inside(Command::new("ip").args(["link", "set", &format!("port{number}"), state])));
    }
}

/// One machine of a cluster, ended with all that it runs when dropped.
pub(crate) struct Node {
    pub(super) daemon: Daemon,
    pub(super) client: Client,
    /// What it calls itself in the cluster.
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) port: u16,
}

/// What can be done with any daemon.
impl Deref for Node {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.daemon
    }
}

impl Node {
    /// Pulls its cable: nothing reaches it any more, and nobody is told.
    pub(crate) fn cut(&self) {
        self.client.set_cable(&self.address, "down");
    }

    /// Puts the cable back.
    pub(crate) fn mend(&self) {
        self.client.set_cable(&self.address, "up");
    }

    /// Kills the daemon alone; the machine and the jobs that run on it go on.
    pub(crate) fn kill_daemon(&self) {
        let daemon = self.daemon.process("iceccd").or_else(|| self.daemon.process("icecc-scheduler"));
        signal("-KILL", &[daemon.expect("its daemon runs")]);
    }

    /// The names of the environments that it has, sorted.
    pub(crate) fn environments(&self) -> Vec<String> {
        let mut names: Vec<String> = self.environment_folders().iter().filter_map(|folder| name_of(folder)).collect();
        names.sort();
        names
    }

    /// What jobs left in the temporary folders of its environments.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        self.environment_folders().iter().flat_map(|folder| entries(&folder.join("tmp"))).collect()
    }

    /// Takes one file of an environment away behind the daemon's back.
    pub(crate) fn damage(&self, environment: &str, file: &str) {
        let folders = self.environment_folders();
        let folder = folders.iter().find(|folder| name_of(folder).is_some_and(|name| name == environment));
        let file = folder.unwrap_or_else(|| panic!("{} has no {environment}", self.name)).join(file);
        std::fs::remove_file(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }

    /// Each environment's folder, seen from outside.
    pub(crate) fn environment_folders(&self) -> Vec<PathBuf> {
        entries(&self.daemon.folder(ENVIRONMENTS)).iter().flat_map(|target| entries(target)).collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Its process namespace ends with its first process.
        self.daemon.end(true);
    }
}

fn name_of(folder: &Path) -> Option<String> {
    folder.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// The entries of a folder; none if it is not there.
fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}
