//! Messages between a scheduler and those who want jobs done.

use std::net::Ipv4Addr;

use super::Language;
use super::environment::{EnvironmentId, read_ids, write_ids};
use crate::icecream::Text;
use crate::icecream::error::Fault;
use crate::icecream::fields::{Reader, Writer};

/// What [`GetCs::arg_flags`] is made of. A scheduler compares hosts by the object bytes that they make in a second, and
/// these tell it how much larger an object becomes by the options.
pub mod arg_flags {
    /// `-g`.
    pub const DEBUG: u32 = 1;
    /// `-g3`.
    pub const DEBUG_MACROS: u32 = 2;
    /// `-O` or `-O1`.
    pub const OPTIMIZE: u32 = 4;
    /// `-O2`.
    pub const OPTIMIZE_MORE: u32 = 8;
    /// `-O3` and others, but not `-O0`.
    pub const OPTIMIZE_OTHERWISE: u32 = 16;
}

/// Find compile servers for jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetCs {
    /// The environments in which the jobs can run, at most one for each platform on which they can.
    pub environments: Vec<EnvironmentId>,
    /// What people are shown; stock clients send the last three parts of the output's path.
    pub file_name: Text,
    /// The language.
    pub language: Language,
    /// How many compile servers are wanted; each gets an answer of its own.
    pub count: u32,
    /// The platform that is compiled for.
    pub target: Text,
    /// Options that change an object's size, see [`arg_flags`](self::arg_flags).
    pub arg_flags: u32,
    /// The sender's number for this request: to a scheduler not 0 and unlike that of its other requests, to a local
    /// daemon 0.
    pub client_id: u32,
    /// Name or address of the only host that may be answered; empty if any may.
    pub preferred_host: Text,
    /// The oldest protocol version of a host. Since version 34; in 31 to 33 it is 31 or nothing; 0 if it is nothing.
    pub minimal_host_version: u32,
    /// How many clients a daemon has. Since version 39, else 0.
    pub client_count: u32,
    /// What hosts must be able to, see [`features`](super::features). Since version 42, else 0.
    pub required_features: u32,
    /// How polite to be, 0 to 20. Since version 43, else 0.
    pub niceness: u32,
}

/// The only version that a request of protocol version 31 to 33 can ask of a host.
const SHORT_MINIMAL_VERSION: u32 = 31;

impl GetCs {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        let environments = read_ids(reader)?;
        let file_name = reader.text("file name")?;
        let language = Language::read(reader)?;
        let count = reader.number("count")?;
        let target = reader.text("target")?;
        let arg_flags = reader.number("argument flags")?;
        let client_id = reader.number("client id")?;
        let preferred_host = reader.text("preferred host")?;
        let short = if reader.flag_since(31, "minimal host version flag")? { SHORT_MINIMAL_VERSION } else { 0 };
        Ok(Self {
            environments,
            file_name,
            language,
            count,
            target,
            arg_flags,
            client_id,
            preferred_host,
            minimal_host_version: reader.number_since(34, "minimal host version", short)?,
            client_count: reader.number_since(39, "client count", 0)?,
            required_features: reader.number_since(42, "required features", 0)?,
            niceness: reader.number_since(43, "niceness", 0)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        write_ids(writer, &self.environments);
        writer.text(&self.file_name);
        writer.number(self.language.number());
        writer.number(self.count);
        writer.text(&self.target);
        writer.number(self.arg_flags);
        writer.number(self.client_id);
        writer.text(&self.preferred_host);
        writer.number_since(31, (self.minimal_host_version >= SHORT_MINIMAL_VERSION).into());
        writer.number_since(34, self.minimal_host_version);
        writer.number_since(39, self.client_count);
        writer.number_since(42, self.required_features);
        writer.number_since(43, self.niceness);
    }
}

/// A compile server for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UseCs {
    /// The job's number at the scheduler.
    pub job_id: u32,
    /// The host's port; 0 at times where the job is to be compiled locally.
    pub port: u16,
    /// The host. From a local daemon, 127.0.0.1 means: compile it yourself.
    pub host: Ipv4Addr,
    /// The platform on which the job's environment will run, out of those that the request named.
    pub host_platform: Text,
    /// Whether the host has the environment already. If it has not, it must be sent there.
    pub has_environment: bool,
    /// The number that the request had.
    pub client_id: u32,
    /// An earlier job of the same file, for people.
    pub matched_job_id: u32,
}

impl UseCs {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        Ok(Self {
            job_id: reader.number("job id")?,
            port: reader.port()?,
            host: reader.address()?,
            host_platform: reader.text("host platform")?,
            has_environment: reader.flag("environment flag")?,
            client_id: reader.number("client id")?,
            matched_job_id: reader.number("matched job id")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number(self.job_id);
        writer.number(self.port.into());
        writer.text(&self.host.to_string().into());
        writer.text(&self.host_platform);
        writer.number(self.has_environment.into());
        writer.number(self.client_id);
        writer.number(self.matched_job_id);
    }
}

/// What a scheduler answers to each login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfCs {
    /// How long an answer to [`Message::Ping`](super::Message::Ping) may take, in seconds.
    pub pong_seconds: u32,
    /// How often very old programs are pinged, in seconds.
    pub ping_seconds: u32,
    /// Nothing; it was a program to measure speed with.
    pub benchmark: Text,
}

impl ConfCs {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        Ok(Self {
            pong_seconds: reader.number("pong seconds")?,
            ping_seconds: reader.number("ping seconds")?,
            benchmark: reader.text("benchmark")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number(self.pong_seconds);
        writer.number(self.ping_seconds);
        writer.text(&self.benchmark);
    }
}
