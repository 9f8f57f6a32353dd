//! A job as hosts get it: short names in place of the client's paths, and the shard rewritten to them.

use std::sync::Arc;

use super::command::reproducible;
use super::inputs::Input;
use super::plan::{Plan, Planned};

/// Names of the files that are no modules. None of them can be a short name.
pub const SHARD: &str = "s.bc";

/// What a crashing compiler would leave on the volunteer otherwise.
const NO_CRASH_FILES: &str = "-fno-crash-diagnostics";

/// A job's options for a compiler that runs in a folder with the job's files, and the name of its module there. How the
/// module and the object stand behind them is the protocol's matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Everything but the module and the object.
    pub options: Vec<String>,
    /// The module to compile.
    pub module: String,
}

/// What the folder holds.
#[derive(Debug)]
pub struct Files {
    /// The shard, in which the modules have their names in the folder. It is called [`SHARD`].
    pub shard: Vec<u8>,
    /// The other files and their names.
    pub inputs: Vec<(String, Arc<Input>)>,
}

/// The job's command elsewhere.
///
/// # Errors
/// Its arguments are not understood; in words.
pub fn command(plan: &Plan, job: usize) -> Result<Command, String> {
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
    let options = common
        .chain(own.map(|(_, argument)| argument.clone()))
        .chain(reproducible(plan.target).map(str::to_owned))
        .chain(ours)
        .collect();
    Ok(Command { options, module })
}

/// The job's files elsewhere.
///
/// # Errors
/// The shard cannot be used there; in words.
pub fn files(plan: &Plan, job: usize) -> Result<Files, String> {
    let planned = plan.jobs.get(job).ok_or("there is no such job")?;
    let index = planned.index.as_ref().map_err(|unusable| unusable.reason.clone())?;
    let shard = index.resolved.rename(&index.shard, &plan.mapping).map_err(|unmapped| unmapped.to_string())?;
    let mut inputs = Vec::new();
    for module in index.resolved.modules() {
        let input = input(plan, planned, job, &module.path)
            .ok_or_else(|| format!("{} is not among its inputs", module.path.escape_ascii()))?;
        let name = plan.mapping.name(&module.path).ok_or("a module without a short name")?;
        inputs.push((name, Arc::clone(input)));
    }
    let profiles = plan.common.iter().enumerate().map(|(number, profile)| (profile_name(number), Arc::clone(profile)));
    inputs.extend(profiles);
    Ok(Files { shard, inputs })
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

/// The input behind a module's true path.
fn input<'a>(plan: &'a Plan, planned: &'a Planned, job: usize, path: &[u8]) -> Option<&'a Arc<Input>> {
    let described = plan.description.jobs.get(job)?;
    if described.module().as_bytes() == path {
        return Some(&planned.module);
    }
    let at = described.imports().iter().position(|import| import.as_bytes() == path)?;
    planned.imports.get(at)
}
