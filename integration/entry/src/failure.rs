//! Why there is no object, if it is not the compiler's own doing.

use std::fmt;

use thinbridge_protocol::bundle::{BAD_BUNDLE, BAD_OBJECT, INCOMPLETE_ENVIRONMENT, MESSAGE_PREFIX};

/// Whose fault it is, and in words what is wrong.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The bundle is malformed, cut or damaged.
    Bundle(String),
    /// The environment, or the machine, is not fit for the job.
    Environment(String),
    /// The compiler left no object although it claims success.
    Object(String),
}

impl Failure {
    /// Tells people. Where the standard error is closed there is nobody to tell.
    pub(crate) fn report(&self) -> u8 {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "{MESSAGE_PREFIX}{self}");
        match self {
            Self::Bundle(_) => BAD_BUNDLE,
            Self::Environment(_) => INCOMPLETE_ENVIRONMENT,
            Self::Object(_) => BAD_OBJECT,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundle(what) | Self::Environment(what) | Self::Object(what) => f.write_str(what),
        }
    }
}
