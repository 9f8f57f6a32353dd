//! The variables of the environment: our own, and those of distcc that mean the same here.

use std::path::PathBuf;
use std::time::Duration;

use super::layer::Layer;
use super::values::{self, SshCommand};
use super::{Environment, LocalOnly, UsageError};
use crate::cli::{Form, OPTIONS};

/// The options that `THINBRIDGE_…` variables set.
pub(super) fn own(env: Environment<'_>) -> Result<Layer, UsageError> {
    let mut layer = Layer::default();
    for option in OPTIONS {
        let name = option.variable();
        let Some(text) = text(env, &name)? else { continue };
        let items: Vec<&str> = match option.form {
            Form::PerHost => text.split_whitespace().collect(),
            _ => vec![&text],
        };
        for item in items {
            let stored = (option.store)(&mut layer, item);
            stored.ok_or_else(|| refuse(&name, item, option.accepts))?;
        }
    }
    Ok(layer)
}

/// Whether the environment keeps every job on this machine.
pub(super) fn local_only(env: Environment<'_>) -> Result<Option<LocalOnly>, UsageError> {
    if let Some(text) = text(env, "THINBRIDGE")? {
        let on = values::switch(&text).ok_or_else(|| refuse("THINBRIDGE", &text, "on or off"))?;
        if !on {
            return Ok(Some(LocalOnly::SwitchedOff));
        }
    }
    Ok(env("_DISTCC_SAFEGUARD").map(|_| LocalOnly::InsideDistcc))
}

/// What distcc's variables say.
pub(super) struct Distcc {
    /// Those that are options of ours too.
    pub(super) layer: Layer,
    pub(super) io_timeout: Option<Duration>,
    pub(super) log: Option<PathBuf>,
    pub(super) ssh: SshCommand,
}

/// Reads distcc's variables.
pub(super) fn distcc(env: Environment<'_>) -> Result<Distcc, UsageError> {
    let layer = Layer {
        fallback: flag(env, "DISTCC_FALLBACK")?.map(Into::into),
        verbose: flag(env, "DISTCC_VERBOSE")?,
        ..Layer::default()
    };
    let io_timeout = match text(env, "DISTCC_IO_TIMEOUT")? {
        None => None,
        Some(text) => {
            let accepts = "a whole number of seconds, at least 1";
            Some(values::seconds(&text).ok_or_else(|| refuse("DISTCC_IO_TIMEOUT", &text, accepts))?)
        }
    };
    let ssh = text(env, "DISTCC_SSH")?.and_then(|text| SshCommand::parse(&text)).unwrap_or_default();
    Ok(Distcc { layer, io_timeout, log: env("DISTCC_LOG").map(PathBuf::from), ssh })
}

/// A switch as distcc writes it: 0 or 1.
fn flag(env: Environment<'_>, name: &str) -> Result<Option<bool>, UsageError> {
    let Some(text) = text(env, name)? else { return Ok(None) };
    match text.trim() {
        "0" => Ok(Some(false)),
        "1" => Ok(Some(true)),
        _ => Err(refuse(name, &text, "0 or 1")),
    }
}

/// A variable that has to be text.
pub(super) fn text(env: Environment<'_>, name: &str) -> Result<Option<String>, UsageError> {
    let text = env(name).map(|value| value.into_string());
    text.transpose().map_err(|_| UsageError::NotUtf8 { name: name.into() })
}

fn refuse(name: &str, given: &str, accepts: &str) -> UsageError {
    UsageError::Value { name: name.into(), given: given.into(), accepts: accepts.into() }
}
