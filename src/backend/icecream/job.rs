//! A backend job as a bundle for the entry program of an environment.

use std::sync::Arc;

use bytes::Bytes;
use thinbridge_protocol::bundle::{self, FileFact};
use thinbridge_protocol::icecream::{Algorithm, pack_file};

use super::{Frames, Payload, arg_flags};
use crate::backend::{Failure, object_cap};
use crate::link::inputs::Input;
use crate::link::plan::Plan;
use crate::link::remote;
use crate::schedule::Fault;
use crate::words;

/// What LLVM writes into each module with debug information.
const DEBUG_INFORMATION: &[u8] = b"Debug Info Version";

/// The job as it travels. Takes its time: reads and digests the job's files.
///
/// # Errors
/// It cannot travel, for a reason of our own.
pub fn payload(plan: &Arc<Plan>, job: usize) -> Result<Payload, Failure> {
    let here = |reason: String| Failure::new(Fault::Local, reason);
    let remote::Command { mut options, module } = remote::command(plan, job).map_err(here)?;
    options.extend(["-c".to_owned(), module]);
    let remote::Files { shard, inputs } = remote::files(plan, job).map_err(here)?;
    let shard = Input::new(shard.into());
    let fact = |name: &str, input: &Input| FileFact {
        name: name.as_bytes().to_vec(),
        size: input.bytes.len() as u64,
        digest: input.digest(),
    };
    let others = inputs.iter().map(|(name, input)| fact(name, input));
    let facts: Vec<FileFact> = std::iter::once(fact(remote::SHARD, &shard)).chain(others).collect();
    let head = bundle::head(&options, &facts).map_err(|error| here(error.to_string()))?;
    let plan = Arc::clone(plan);
    let output_name = plan.description.jobs.get(job).map_or_else(String::new, |job| job.output().to_owned());
    let object_cap = object_cap(&plan, job);
    let contents: Frames = Arc::new(move |algorithm: Algorithm| {
        // The shard is this job's alone; the modules are lent to all jobs that read them.
        let mut frames: Vec<Bytes> = pack_file(&shard.bytes, algorithm);
        for (_, input) in &inputs {
            frames.extend(plan.inputs.frames(input, algorithm).iter().cloned());
        }
        Ok(frames)
    });
    Ok(Payload { head, contents, output_name, object_cap })
}

/// How the link's modules are compiled, as hosts are rated by it: from the last `-O` of the jobs' options, and from the
/// first module.
pub fn rating(plan: &Plan) -> u32 {
    let level = plan.description.options().filter_map(|option| option.strip_prefix("-O")).last();
    let optimisation = match level {
        None => 0,
        Some("") => 1,
        Some(level) => level.parse().unwrap_or(2),
    };
    let module = plan.jobs.first().map_or(&[][..], |job| &job.module.bytes);
    arg_flags(optimisation, words::contains(module, DEBUG_INFORMATION))
}
