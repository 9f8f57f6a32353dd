//! Messages about environments: the archives in which compilers travel.

use crate::icecream::Text;
use crate::icecream::error::Fault;
use crate::icecream::fields::{Reader, Writer};

/// Least bytes of an [`EnvironmentId`]: two strings without a byte.
const LEAST_ID: usize = 8;

/// An environment, as requests and logins name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnvironmentId {
    /// The platform on which its programs run, such as `x86_64`. In a login: the platform that it compiles for.
    pub platform: Text,
    /// Its name.
    pub name: Text,
}

/// Writes environments as requests and logins have them.
pub(super) fn write_ids(writer: &mut Writer, environments: &[EnvironmentId]) {
    writer.count(environments.len());
    for environment in environments {
        writer.text(&environment.platform);
        writer.text(&environment.name);
    }
}

pub(super) fn read_ids(reader: &mut Reader) -> Result<Vec<EnvironmentId>, Fault> {
    reader.list("environments", LEAST_ID, |reader| {
        Ok(EnvironmentId { platform: reader.text("environment platform")?, name: reader.text("environment name")? })
    })
}

/// Make an environment of an installed compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetNativeEnv {
    /// Path of the compiler. Since version 32, else empty.
    pub compiler: Text,
    /// Paths of other files to put in. Since version 32, else none.
    pub extra_files: Vec<Text>,
    /// How to compress it: `none`, `gzip`, `bzip2`, `zstd`, `xz`, or empty for the daemon's choice. Since version 42,
    /// else empty.
    pub compression: Text,
}

impl GetNativeEnv {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        Ok(Self {
            compiler: reader.text_since(32, "compiler")?,
            extra_files: if reader.since(32) { reader.texts("extra files")? } else { Vec::new() },
            compression: reader.text_since(42, "compression")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.text_since(32, &self.compiler);
        if writer.since(32) {
            writer.texts(&self.extra_files);
        }
        writer.text_since(42, &self.compression);
    }
}

/// An environment does not work on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlacklistHostEnv {
    /// The environment's name.
    pub name: Text,
    /// The platform that it compiles for.
    pub target: Text,
    /// The host's address, as [`UseCs`](super::UseCs) has it.
    pub host: Text,
}

impl BlacklistHostEnv {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        Ok(Self { name: reader.text("name")?, target: reader.text("target")?, host: reader.text("host")? })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        [&self.name, &self.target, &self.host].into_iter().for_each(|text| writer.text(text));
    }
}
