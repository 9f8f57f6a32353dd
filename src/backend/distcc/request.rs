//! What a distcc host is sent: a probe, or a backend job under short names.
//!
//! The job's folder there holds the modules under the link's short names, the shard rewritten to them, and a sample
//! profile. The module being compiled looks like a C source to the server's scan, and `--language=ir` says what it is.
//! Flags that the scan would refuse travel in a response file.

use bytes::Bytes;
use thinbridge_protocol::distcc::{self, Compressed, Content, File, Input, Request, Version};

use super::exchange::Outgoing;
use crate::backend::Failure;
use crate::link::plan::{Plan, Planned};
use crate::link::remote;
use crate::schedule::Fault;

/// The folder the compiler runs in, below the server's own for the job.
const FOLDER: &str = "/w";

/// Names of the files that are no modules. None of them can be a short name.
const OBJECT: &str = "o.o";
const RESPONSE_FILE: &str = "j.rsp";

/// A profile is sent with every job when, packed, it is at most this many times what a job sends anyway: a job's own
/// bytes take far less time than its compile, so four times as many are still a gain.
const PROFILE_PER_JOB: u64 = 4;

/// The size in bytes below which a profile always travels.
const SMALL_PROFILE: u64 = 1 << 20;

/// Asks for the compiler's version; no file, no compile.
pub(super) fn version_probe(compiler: &str) -> Result<Outgoing, Failure> {
    let argv = [compiler, "--version", "-c", "p.i", "-o", "p.o"];
    let argv = argv.iter().map(|argument| Bytes::copy_from_slice(argument.as_bytes())).collect();
    encode(&Request { argv, input: Input::V1(Bytes::new()) })
}

/// The request for a job.
pub(super) fn job(plan: &Plan, job: usize, compiler: &str) -> Result<Outgoing, Failure> {
    let here = |reason: String| Failure::new(Fault::Local, reason);
    let command = command(plan, job, compiler).map_err(here)?;
    let content = remote::files(plan, job).map_err(here)?;

    let mut files = vec![file(remote::SHARD, Compressed::new(&content.shard))];
    if let Some(text) = &command.response_file {
        files.push(file(RESPONSE_FILE, Compressed::new(text.as_bytes())));
    }
    files.extend(content.inputs.iter().map(|(name, input)| file(name, plan.inputs.pack(input))));
    let argv = command.argv.iter().map(|argument| Bytes::copy_from_slice(argument.as_bytes())).collect();
    encode(&Request { argv, input: Input::V3 { cwd: Bytes::from_static(FOLDER.as_bytes()), files } })
}

/// Why a stock host would not take the job's command line, whatever its compiler is called; `None`: it takes it.
pub fn refusal(plan: &Plan, job: usize) -> Option<String> {
    command(plan, job, "clang").err()
}

/// Whether the files that all jobs read are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileTravels {
    /// There are none, or they are small beside the jobs.
    Yes,
    /// They cost more than they save.
    No {
        /// Their size in bytes, packed.
        bytes: u64,
    },
}

/// Weighs the common inputs against what the jobs send anyway.
pub fn profile_travels(plan: &Plan) -> ProfileTravels {
    let packed = |input| plan.inputs.pack(input).wire_len() as u64;
    let bytes: u64 = plan.common.iter().map(|input| packed(input.as_ref())).sum();
    // Plain sizes: packing every module only to decide this would be the larger cost.
    let plain = |planned: &Planned| {
        let imports: usize = planned.imports.iter().map(|import| import.bytes.len()).sum();
        (planned.module.bytes.len() + imports) as u64
    };
    let jobs = plan.jobs.len().max(1) as u64;
    let mean = plan.jobs.iter().map(plain).sum::<u64>() / jobs;
    if bytes <= SMALL_PROFILE.max(mean.saturating_mul(PROFILE_PER_JOB)) {
        ProfileTravels::Yes
    } else {
        ProfileTravels::No { bytes }
    }
}

/// A command line that stock hosts take.
struct Command {
    argv: Vec<String>,
    response_file: Option<String>,
}

/// The job's command as distccd takes it.
fn command(plan: &Plan, job: usize, compiler: &str) -> Result<Command, String> {
    let remote::Command { options, module } = remote::command(plan, job)?;
    let end = ["-c".to_owned(), module, "-o".to_owned(), OBJECT.to_owned()];
    let argv = |options: &[String]| -> Vec<String> {
        std::iter::once(compiler.to_owned()).chain(options.iter().cloned()).chain(end.iter().cloned()).collect()
    };
    let plain = argv(&options);
    if distcc::scan(&plain).is_ok() {
        return Ok(Command { argv: plain, response_file: None });
    }
    let text = options.iter().map(|option| quoted(option)).collect();
    let argv = argv(&[format!("@{RESPONSE_FILE}")]);
    match distcc::scan(&argv) {
        Ok(_) => Ok(Command { argv, response_file: Some(text) }),
        Err(refusal) => Err(format!("a distcc host would refuse its command line: {refusal}")),
    }
}

/// One line of a response file, as clang reads it.
fn quoted(argument: &str) -> String {
    format!("\"{}\"\n", argument.replace('\\', "\\\\").replace('"', "\\\""))
}

fn file(name: &str, body: Compressed) -> File {
    File { name: Bytes::from(format!("{FOLDER}/{name}")), content: Content::Body(body) }
}

fn encode(request: &Request) -> Result<Outgoing, Failure> {
    let bytes = request.encode().map_err(|unsendable| Failure::new(Fault::Local, unsendable.to_string()))?;
    let version: Version = request.version();
    Ok(Outgoing { version, bytes })
}
