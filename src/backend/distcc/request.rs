//! What a distcc host is sent: a probe, or a backend job under short names.
//!
//! The job's folder there holds the modules under the link's short names, the shard rewritten to them, and a sample
//! profile. The module being compiled looks like a C source to the server's scan, and `--language=ir` says what it is.
//! Flags that the scan would refuse travel in a response file.

use bytes::Bytes;
use thinbridge_protocol::distcc::{self, Compressed, Content, File, Input, Request, Version};

use super::exchange::Outgoing;
use crate::backend::Failure;
use crate::link::command::reproducible;
use crate::link::plan::{Plan, Planned};
use crate::schedule::Fault;

/// The folder the compiler runs in, below the server's own for the job.
const FOLDER: &str = "/w";

/// Names of the files that are no modules. None of them can be a short name.
const SHARD: &str = "s.bc";
const OBJECT: &str = "o.o";
const RESPONSE_FILE: &str = "j.rsp";

/// What a crashing compiler would leave on the volunteer otherwise.
const NO_CRASH_FILES: &str = "-fno-crash-diagnostics";

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
    let planned = plan.jobs.get(job).ok_or_else(|| here("there is no such job".to_owned()))?;
    let index = planned.index.as_ref().map_err(|unusable| here(unusable.reason.clone()))?;
    let command = command(plan, job, compiler).map_err(here)?;
    let shard = index.resolved.rename(&index.shard, &plan.mapping).map_err(|unmapped| here(unmapped.to_string()))?;

    let mut files = vec![file(SHARD, Compressed::new(&shard))];
    if let Some(text) = &command.response_file {
        files.push(file(RESPONSE_FILE, Compressed::new(text.as_bytes())));
    }
    for module in index.resolved.modules() {
        let input = input(plan, planned, job, &module.path)
            .ok_or_else(|| here(format!("{} is not among its inputs", module.path.escape_ascii())))?;
        let name = plan.mapping.name(&module.path).ok_or_else(|| here("a module without a short name".to_owned()))?;
        files.push(file(&name, plan.inputs.pack(input)));
    }
    for (number, profile) in plan.common.iter().enumerate() {
        files.push(file(&profile_name(number), plan.inputs.pack(profile)));
    }
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

/// The job's arguments with our names in place of the client's.
fn command(plan: &Plan, job: usize, compiler: &str) -> Result<Command, String> {
    let described = plan.description.jobs.get(job).ok_or("there is no such job")?;
    let shape = plan.jobs.get(job).ok_or("there is no such job")?.shape.clone()?;
    let module = plan.mapping.name(described.module().as_bytes()).ok_or("a module without a short name")?;
    let common = plan.description.options().map(|flag| common_flag(flag, plan));
    let own = described
        .args
        .iter()
        .enumerate()
        .filter(|(at, _)| ![shape.module, shape.index, shape.output].contains(at) && at + 1 != shape.output);
    let ours = [NO_CRASH_FILES.to_owned(), "--language=ir".to_owned(), format!("-fthinlto-index={SHARD}")];
    let options: Vec<String> = common
        .chain(own.map(|(_, argument)| argument.clone()))
        .chain(reproducible(plan.target).map(str::to_owned))
        .chain(ours)
        .collect();

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

/// A common argument with the profile's name there.
fn common_flag(flag: &str, plan: &Plan) -> String {
    let named = plan.description.common_inputs.iter().enumerate().find_map(|(number, path)| {
        let option = flag.strip_suffix(path.as_str())?;
        option.ends_with('=').then(|| format!("{option}{}", profile_name(number)))
    });
    named.unwrap_or_else(|| flag.to_owned())
}

fn profile_name(number: usize) -> String {
    format!("p{number}")
}

/// One line of a response file, as clang reads it.
fn quoted(argument: &str) -> String {
    format!("\"{}\"\n", argument.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The input behind a module's true path.
fn input<'a>(plan: &'a Plan, planned: &'a Planned, job: usize, path: &[u8]) -> Option<&'a crate::link::inputs::Input> {
    let described = plan.description.jobs.get(job)?;
    if described.module().as_bytes() == path {
        return Some(&planned.module);
    }
    let at = described.imports().iter().position(|import| import.as_bytes() == path)?;
    planned.imports.get(at).map(AsRef::as_ref)
}

fn file(name: &str, body: Compressed) -> File {
    File { name: Bytes::from(format!("{FOLDER}/{name}")), content: Content::Body(body) }
}

fn encode(request: &Request) -> Result<Outgoing, Failure> {
    let bytes = request.encode().map_err(|unsendable| Failure::new(Fault::Local, unsendable.to_string()))?;
    let version: Version = request.version();
    Ok(Outgoing { version, bytes })
}
