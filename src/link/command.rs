//! A job's command line for this machine.

use std::ffi::OsString;

use bytes::Bytes;

use super::job::Job;
use super::plan::{Plan, Planned};
use super::verify::Target;
use crate::bitcode::Module;

/// A compiler to start.
#[derive(Clone, Debug)]
pub struct Compile {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// What it finds on its standard input; `None`: nothing.
    pub stdin: Option<Bytes>,
    /// It writes files: when it has to be ended it may remove what is half done.
    pub writes_files: bool,
}

/// The object goes to the standard output, from where it is taken into memory.
const TO_STDOUT: &str = "-";

/// The shard comes from the standard input.
const INDEX_FROM_STDIN: &str = "-fthinlto-index=-";

/// A COFF object holds the second in which it was made unless clang is told otherwise. With it no two compiles would give
/// the same bytes; the linker's own ThinLTO leaves it out too.
const NO_TIME: &str = "-mno-incremental-linker-compatible";

/// What has to be added to a job's options, wherever it runs, for its object to depend on nothing but its inputs.
pub fn reproducible(target: Target) -> Option<&'static str> {
    matches!(target, Target::Coff { .. }).then_some(NO_TIME)
}

/// The compile of a job on this machine, from the linker's own files. A shard that LLVM damaged, and one whose module
/// has a name that clang would take for an option, reaches the compiler repaired, on its standard input.
///
/// # Errors
/// The shard cannot be repaired; in words.
pub fn local(plan: &Plan, job: usize) -> Result<Compile, String> {
    let (Some(planned), Some(described)) = (plan.jobs.get(job), plan.description.jobs.get(job)) else {
        return Err("there is no such job".to_owned());
    };
    let mut arguments = described.args.clone();
    let mut stdin = None;
    if let Ok(shape) = &planned.shape {
        arguments.extend(reproducible(plan.target).map(str::to_owned));
        if !planned.as_given {
            replace(&mut arguments, shape.output, TO_STDOUT);
        }
        let own = own_name(described.module());
        if let Some(shard) = repaired(planned, described, &own)? {
            replace(&mut arguments, shape.index, INDEX_FROM_STDIN);
            replace(&mut arguments, shape.module, &own);
            stdin = Some(shard);
        }
    }
    let command = plan.description.common_args.iter().chain(&arguments).map(Into::into).collect();
    Ok(Compile { command, stdin, writes_files: planned.as_given })
}

/// The shard that clang has to be given in place of the linker's, in which the job's module is called `own`.
fn repaired(planned: &Planned, described: &Job, own: &str) -> Result<Option<Bytes>, String> {
    let Ok(index) = &planned.index else { return Ok(None) };
    if !index.resolved.damaged() && own == described.module() {
        return Ok(None);
    }
    let renamed = |module: &Module| {
        let is_own = module.id == index.resolved.own();
        let path = if is_own { own.as_bytes().to_vec() } else { module.path.clone() };
        Module { path, ..module.clone() }
    };
    let modules: Vec<Module> = index.resolved.modules().iter().map(renamed).collect();
    match index.shard.rewrite(&modules) {
        Ok(shard) => Ok(Some(shard.into())),
        Err(error) => {
            Err(format!("the summary index {} cannot be repaired: {error}", described.shard().escape_debug()))
        }
    }
}

/// The module's name as clang can be given it: one that begins like an option or a response file is reached through
/// the folder.
fn own_name(path: &str) -> String {
    if path.starts_with(['-', '@']) { format!("./{path}") } else { path.to_owned() }
}

fn replace(arguments: &mut [String], at: usize, new: &str) {
    if let Some(argument) = arguments.get_mut(at) {
        new.clone_into(argument);
    }
}
