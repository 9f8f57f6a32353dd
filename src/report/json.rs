//! The report of a link as JSON: which host compiled what, how long it took, and why something went wrong.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::ser::{Serialize, SerializeStruct, Serializer};

#[cfg(test)]
mod tests;

/// Names the shape of the report. Fields may be added to it; other changes get another number.
pub const SCHEMA: &str = "thinbridge-report/1";

/// The longest part of a linked program's name, in bytes, that goes into the name of the report. File systems allow
/// 255 for the whole name.
const MAX_OUTPUT_BYTES: usize = 200;

/// The report of one link.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Report {
    /// Sums over all jobs.
    pub totals: Totals,
    /// Every host: those of the host list in its order, then those that a cluster granted.
    pub hosts: Vec<HostReport>,
    /// The icecream cluster; `None` (not in JSON) when none is to be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icecream: Option<ClusterReport>,
    /// Every job, in the linker's order.
    pub jobs: Vec<JobReport>,
}

/// Sums over all jobs of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Totals {
    /// How many jobs the linker gave.
    pub jobs: usize,
    /// How many objects come from a host.
    pub remote: usize,
    /// How many objects come from this machine.
    pub local: usize,
    /// How many jobs were meant for a host and ran on this machine.
    pub fallbacks: usize,
    /// Bytes sent to hosts, failed attempts included.
    pub bytes_sent: u64,
    /// Bytes received from hosts, failed attempts included.
    pub bytes_received: u64,
    /// From the start of the program to the last object; seconds in JSON.
    #[serde(serialize_with = "seconds")]
    pub seconds: Duration,
    /// Processor time of thinbridge itself, without the compilers; seconds in JSON.
    #[serde(serialize_with = "seconds")]
    pub client_cpu_seconds: Duration,
}

/// What became of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct HostReport {
    /// The host, as it is named everywhere: `name:port`, `[v6]:port` or `user@name`.
    pub host: String,
    /// How many objects come from it.
    pub jobs: usize,
    /// How many attempts failed there.
    pub failures: usize,
    /// Why attempts failed or why it was left out, each reason once.
    pub reasons: Vec<String>,
}

/// What became of a cluster.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ClusterReport {
    /// Through whom jobs went, in words; `None` (null in JSON) when no way was found.
    pub way: Option<String>,
    /// Why it could not be used, or not all the time, each reason once.
    pub reasons: Vec<String>,
    /// What its hosts compile with; `None` (null in JSON) when it did not get as far.
    pub environment: Option<EnvironmentReport>,
    /// The environment's ways to hosts, in their order.
    pub shipments: Vec<ShipmentReport>,
}

/// The environment of a cluster's hosts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct EnvironmentReport {
    /// Its name on the hosts.
    pub name: String,
    /// Bytes that are sent to a host that lacks it, before the protocol packs them again.
    pub packed_bytes: u64,
    /// Bytes that it takes of a host's cache.
    pub unpacked_bytes: u64,
}

/// One environment on its way to one host.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ShipmentReport {
    /// The host.
    pub host: String,
    /// Bytes sent for it; not part of any job's.
    pub bytes: u64,
    /// From the grant to the host's word that it works; seconds in JSON.
    #[serde(serialize_with = "seconds")]
    pub seconds: Duration,
    /// Why it did not arrive; `None` (null in JSON) when it did.
    pub reason: Option<String>,
}

/// What became of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobReport {
    /// The bitcode file, as the linker named it.
    pub module: String,
    /// The object, as the linker named it.
    pub output: String,
    /// Where the object comes from; `None` (null in JSON) when the link ended without it.
    pub place: Option<Place>,
    /// The attempts on hosts, in their order.
    pub attempts: Vec<Attempt>,
    /// Bytes sent to hosts, all attempts together.
    pub bytes_sent: u64,
    /// Bytes received from hosts, all attempts together.
    pub bytes_received: u64,
    /// How long the job took, part by part, in the attempt that gave the object.
    pub times: Times,
}

/// Where an object comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// From this host.
    Remote(String),
    /// From this machine.
    Local,
}

/// One attempt to compile a job on a host.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Attempt {
    /// The host.
    pub host: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, unless all went well.
    pub reason: Option<String>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It gave the object.
    Ok,
    /// It gave none, or a wrong one.
    Failed,
    /// It was stopped because its result was no longer needed.
    Cancelled,
    /// The host did not take the job.
    Refused,
}

/// How long the parts of a job took; seconds in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Times {
    /// From the start of the link until the job was given to its place.
    #[serde(serialize_with = "seconds")]
    pub queued: Duration,
    /// Connecting to the host and sending the job; 0 on this machine.
    #[serde(serialize_with = "seconds")]
    pub sending: Duration,
    /// Until the first byte of the answer; on this machine the compile.
    #[serde(serialize_with = "seconds")]
    pub waiting: Duration,
    /// Receiving the answer; 0 on this machine.
    #[serde(serialize_with = "seconds")]
    pub receiving: Duration,
}

impl Serialize for JobReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (place, host) = match &self.place {
            Some(Place::Remote(host)) => (Some("remote"), Some(host)),
            Some(Place::Local) => (Some("local"), None),
            None => (None, None),
        };
        let mut fields = serializer.serialize_struct("JobReport", 8)?;
        fields.serialize_field("module", &self.module)?;
        fields.serialize_field("output", &self.output)?;
        fields.serialize_field("place", &place)?;
        fields.serialize_field("host", &host)?;
        fields.serialize_field("attempts", &self.attempts)?;
        fields.serialize_field("bytes_sent", &self.bytes_sent)?;
        fields.serialize_field("bytes_received", &self.bytes_received)?;
        fields.serialize_field("seconds", &self.times)?;
        fields.end()
    }
}

/// Whole microseconds, so that the numbers stay short. A duration is always a finite number.
fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let rounded = time.as_micros() as f64 / 1e6;
    serializer.serialize_f64(rounded)
}

/// The report as JSON text, with a newline at its end. The same report gives the same text.
pub fn to_json(report: &Report) -> String {
    #[derive(serde::Serialize)]
    struct Document<'a> {
        schema: &'static str,
        #[serde(flatten)]
        report: &'a Report,
    }
    // Nothing in a report can fail: its keys are strings, its numbers finite, and a string takes any text.
    let mut text = serde_json::to_string_pretty(&Document { schema: SCHEMA, report }).unwrap_or_default();
    text.push('\n');
    text
}

/// Where the report goes. In `template`, `{output}` is replaced by the file name of `linker_output` and `{pid}` by
/// `pid`. If that names a folder (`is_dir`, or a slash at its end), the report is `{output}.{pid}.json` in it.
pub fn path(template: &str, linker_output: &str, pid: u32, is_dir: impl Fn(&Path) -> bool) -> PathBuf {
    let output = output_name(linker_output);
    let pid = pid.to_string();
    let name = fill(template, &output, &pid);
    let path = PathBuf::from(&name);
    if name.ends_with('/') || is_dir(&path) { path.join(format!("{output}.{pid}.json")) } else { path }
}

/// Replaces the placeholders in one pass, so that one in the program's own name stays as it is.
fn fill(template: &str, output: &str, pid: &str) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.push_str(before);
        let (value, after) = match (from.strip_prefix("{output}"), from.strip_prefix("{pid}")) {
            (Some(after), _) => (output, after),
            (_, Some(after)) => (pid, after),
            _ => ("{", from.strip_prefix('{').unwrap_or_default()),
        };
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// The last part of the linker's output, as a name that stays in its folder and that any terminal can show.
fn output_name(linker_output: &str) -> String {
    let name = linker_output.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut name: String = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    while name.len() > MAX_OUTPUT_BYTES {
        name.pop();
    }
    match name.as_str() {
        "" | "." | ".." => "output".into(),
        _ => name,
    }
}
