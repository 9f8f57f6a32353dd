//! Where the host list comes from.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{Environment, ReadFile, UsageError, file};

/// distcc's host list of the whole machine, the last place to look.
const SYSTEM_HOSTS: &str = "/etc/distcc/hosts";

/// A host list, not parsed yet, and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsSource {
    /// The list, in distcc's grammar. Lists that were given one by one stand on lines of their own.
    pub text: String,
    /// Where it was found.
    pub origin: Origin,
}

/// Where a host list was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `--hosts`.
    Flag,
    /// This variable of the environment.
    Variable(&'static str),
    /// A file of the user's or of ours.
    File(PathBuf),
    /// distcc's list of the whole machine, which a distribution may have filled without anybody's wish.
    SystemDefault(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("--hosts"),
            Self::Variable(name) => f.write_str(name),
            Self::File(path) | Self::SystemDefault(path) => {
                write!(f, "{}", path.to_string_lossy().escape_debug())
            }
        }
    }
}

/// The first host list that exists: those of our own sources, highest first, then distcc's. `read_own` reads the list in
/// the user's home, `read` those that were named or are the machine's.
pub(super) fn find(
    given: impl IntoIterator<Item = (Option<String>, Origin)>,
    env: Environment<'_>,
    read: ReadFile<'_>,
    read_own: ReadFile<'_>,
) -> Result<Option<HostsSource>, UsageError> {
    for (text, origin) in given {
        if let Some(text) = text {
            return Ok(Some(HostsSource { text, origin }));
        }
    }
    if let Some(text) = env("DISTCC_HOSTS") {
        let text = text.into_string().map_err(|_| UsageError::NotUtf8 { name: "DISTCC_HOSTS".into() })?;
        return Ok(Some(HostsSource { text, origin: Origin::Variable("DISTCC_HOSTS") }));
    }
    let named = env("DISTCC_DIR").map(|folder| (PathBuf::from(folder), read));
    let folder = named.or_else(|| Some((PathBuf::from(env("HOME")?).join(".distcc"), read_own)));
    if let Some((path, read)) = folder.map(|(folder, read)| (folder.join("hosts"), read))
        && let Some(text) = file::read_text(&path, read)?
    {
        return Ok(Some(HostsSource { text, origin: Origin::File(path) }));
    }
    let text = file::read_text(Path::new(SYSTEM_HOSTS), read)?;
    Ok(text.map(|text| HostsSource { text, origin: Origin::SystemDefault(SYSTEM_HOSTS.into()) }))
}
