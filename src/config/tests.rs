//! A made-up world for the tests of the settings: an environment and a few files.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::{Invocation, Settings, UsageError};

mod environment;
mod files;
mod hosts;
mod icecream;
mod precedence;

/// What a test's program finds around it.
#[derive(Default)]
struct World {
    env: HashMap<String, OsString>,
    files: HashMap<PathBuf, Result<Vec<u8>, io::ErrorKind>>,
}

impl World {
    /// A user with a home folder and nothing in it.
    fn new() -> Self {
        Self::default().env("HOME", "/home/me")
    }

    fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    fn file(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.files.insert(path.into(), Ok(content.as_ref().to_vec()));
        self
    }

    fn broken_file(mut self, path: &str, kind: io::ErrorKind) -> Self {
        self.files.insert(path.into(), Err(kind));
        self
    }

    fn user(self, toml: &str) -> Self {
        self.file("/home/me/.config/thinbridge/config.toml", toml)
    }

    fn system(self, toml: &str) -> Self {
        self.file("/etc/thinbridge/config.toml", toml)
    }

    fn load(&self, args: &[&str]) -> Result<Invocation, UsageError> {
        let args = args.iter().map(OsString::from).collect();
        Settings::load(args, &|name| self.env.get(name).cloned(), &|path: &Path| match self.files.get(path) {
            Some(Ok(content)) => Ok(content.clone()),
            Some(Err(kind)) => Err((*kind).into()),
            None => Err(io::ErrorKind::NotFound.into()),
        })
    }

    /// The settings of a link with these options.
    fn settings(&self, options: &[&str]) -> Settings {
        match self.load(&[options, &["jobs.json"]].concat()) {
            Ok(Invocation::Run(settings)) => *settings,
            other => panic!("expected settings, found {other:?}"),
        }
    }

    /// The error of a link with these options: always one line.
    fn error(&self, options: &[&str]) -> String {
        let error = match self.load(&[options, &["jobs.json"]].concat()) {
            Err(error) => error.to_string(),
            Ok(other) => panic!("expected an error, found {other:?}"),
        };
        assert!(!error.contains('\n'), "more than one line: {error}");
        error
    }
}
