//! What is known of each job before it runs: its files, what its shard says, and where it may run.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use super::inputs::{Input, Inputs};
use super::job::{Description, Job, Shape};
use super::verify::{self, Expected, Flaw, NoDefinitions, Target};
use crate::bitcode::{self, Mapping, Mismatch, Resolved, Shard};
use crate::schedule::CostModel;
use crate::words::plain;

/// All jobs of a link.
#[derive(Debug)]
pub struct Plan {
    /// What the linker wrote.
    pub description: Description,
    /// Every file, mapped.
    pub inputs: Inputs,
    /// Short names for all modules of the link.
    pub mapping: Mapping,
    /// The jobs, in the linker's order.
    pub jobs: Vec<Planned>,
    /// `common.inputs`: a sample profile.
    pub common: Vec<Arc<Input>>,
    /// What the jobs' objects are made for.
    pub target: Target,
    /// `e_flags` of an object that was compiled here.
    flags: OnceLock<Option<u32>>,
}

/// One job.
#[derive(Debug)]
pub struct Planned {
    /// Where its arguments name its files; otherwise why they are not understood.
    pub shape: Result<Shape, String>,
    /// The module that it compiles.
    pub module: Arc<Input>,
    /// Its summary index shard.
    pub shard: Arc<Input>,
    /// The modules that it imports from, as the description lists them.
    pub imports: Vec<Arc<Input>>,
    /// What the shard says; otherwise why it cannot be used elsewhere.
    pub index: Result<Index, Unusable>,
    /// Why it cannot leave this machine, if so.
    pub stays: Option<String>,
    /// Whether the compiler must write the object itself, as it writes more files or needs the name: then it gets the
    /// linker's own arguments, output name and all.
    pub as_given: bool,
    /// How much work it is; see [`CostModel`].
    pub cost: u64,
    source_file: OnceLock<Option<Vec<u8>>>,
}

/// A shard that was understood.
#[derive(Debug)]
pub struct Index {
    /// The shard.
    pub shard: Shard,
    /// Its module table with the true paths.
    pub resolved: Resolved,
}

/// A shard that only the local compiler can be given, as it is.
#[derive(Debug)]
pub struct Unusable {
    /// Why.
    pub reason: String,
    /// The shard and the id of the job's own module, where that much is clear: enough to check the object with.
    promise: Option<(Shard, u64)>,
}

/// Why no plan can be made: the link fails.
#[derive(Debug)]
pub enum PlanError {
    /// A file that a job names cannot be used.
    File {
        /// The job's module.
        module: String,
        /// The file.
        path: String,
        /// What is wrong with it.
        error: io::Error,
    },
    /// A shard that does not name the module of its job: clang would compile nothing and call it a success.
    NotNamed {
        /// The job's module.
        module: String,
        /// The shard.
        path: String,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { module, path, error } => {
                write!(f, "job of {}: cannot read {}: {}", module.escape_debug(), path.escape_debug(), plain(error))
            }
            Self::NotNamed { module, path } => write!(
                f,
                "job of {}: the summary index {} does not name this module; the linker's files do not belong together",
                module.escape_debug(),
                path.escape_debug()
            ),
        }
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// Maps all files and reads all shards.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn new(description: Description) -> Result<Self, PlanError> {
        let mut inputs = Inputs::default();
        let mut jobs = Vec::with_capacity(description.jobs.len());
        for job in &description.jobs {
            jobs.push(plan(job, &description, &mut inputs)?);
        }
        let mut common = Vec::new();
        for path in &description.common_inputs {
            let module = description.jobs.first().map_or("", Job::module);
            common.push(open(&mut inputs, path, module)?);
        }
        let modules = description
            .jobs
            .iter()
            .flat_map(|job| std::iter::once(job.module()).chain(job.imports().iter().map(String::as_str)));
        let mapping = Mapping::new(modules);
        let target = Target::of_arguments(description.common_args.iter().map(String::as_str));
        Ok(Self { description, inputs, mapping, jobs, common, target, flags: OnceLock::new() })
    }

    /// Checks an object of the job and what its compiler said. The same for every place; `here`: it was compiled on
    /// this machine.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn verify(&self, job: usize, object: &[u8], stderr: &[u8], here: bool) -> Result<(), Flaw> {
        let Some(planned) = self.jobs.get(job) else { return Err(Flaw::Empty) };
        let source = planned.source_file();
        let promise = match &planned.index {
            Ok(index) => Some((&index.shard, index.resolved.own())),
            Err(unusable) => unusable.promise.as_ref().map(|(shard, own)| (shard, *own)),
        };
        let definitions = promise.map(|(shard, own)| bitcode::Definitions::new(shard, own, source));
        let expected = Expected {
            target: self.target,
            flags: if here { None } else { self.flags.get().copied().flatten() },
            source_name: source,
            definitions: definitions.as_ref().map_or(&NoDefinitions as _, |definitions| definitions as _),
        };
        verify::verify(object, &expected, stderr)?;
        if here {
            self.flags.get_or_init(|| verify::elf_flags(object));
        }
        Ok(())
    }

    /// A message of a host's compiler in the user's terms: true paths in place of the short names.
    pub fn translate(&self, words: &[u8]) -> Vec<u8> {
        self.mapping.translate(words)
    }
}

impl verify::Definitions for bitcode::Definitions {
    fn missing(&self, symbols: &mut dyn Iterator<Item = &[u8]>) -> Vec<u64> {
        Self::missing(self, symbols)
    }
}

impl Planned {
    fn source_file(&self) -> Option<&[u8]> {
        let read = || bitcode::module::facts(&self.module.bytes).map(|facts| facts.source_file);
        self.source_file.get_or_init(read).as_deref()
    }
}

fn plan(job: &Job, description: &Description, inputs: &mut Inputs) -> Result<Planned, PlanError> {
    let module = open(inputs, job.module(), job.module())?;
    let shard = open(inputs, job.shard(), job.module())?;
    let imports = job.imports().iter().map(|path| open(inputs, path, job.module())).collect::<Result<Vec<_>, _>>()?;
    let shape = description.shape(job).map_err(|unknown| unknown.to_string());
    let index = index(job, &shard, &module, &imports)?;
    let side_files = description.asks_side_files(job);
    let stays = None
        .or_else(|| side_files.clone())
        .or_else(|| shape.as_ref().err().cloned())
        .or_else(|| index.as_ref().err().map(|unusable| unusable.reason.clone()));
    Ok(Planned {
        as_given: side_files.is_some() || shape.is_err() || description.common_args.iter().any(|arg| needs_name(arg)),
        cost: CostModel::cost(module.bytes.len() as u64, shard.bytes.len() as u64),
        shape,
        module,
        shard,
        imports,
        index,
        stays,
        source_file: OnceLock::new(),
    })
}

/// An external assembler writes no object to a pipe.
fn needs_name(argument: &str) -> bool {
    matches!(argument, "-fno-integrated-as" | "-no-integrated-as")
}

/// Reads the job's shard. What cannot be understood keeps the job here; what clang would silently get wrong is an error.
fn index(
    job: &Job,
    shard: &Input,
    module: &Input,
    imports: &[Arc<Input>],
) -> Result<Result<Index, Unusable>, PlanError> {
    let shard = match Shard::parse(&shard.bytes) {
        Ok(shard) => shard,
        Err(unreadable) => {
            let reason = format!("its summary index is not understood ({unreadable})");
            return Ok(Err(Unusable { reason, promise: None }));
        }
    };
    let own = job.module().as_bytes();
    let paths: Vec<&[u8]> = std::iter::once(own).chain(job.imports().iter().map(|path| path.as_bytes())).collect();
    let hash = |path: &[u8]| {
        let at = paths.iter().position(|known| *known == path)?;
        let input = if at == 0 { module } else { imports.get(at - 1)? };
        bitcode::module::hash(&input.bytes)
    };
    match bitcode::resolve(&shard, &paths, own, hash) {
        Ok(resolved) => Ok(Ok(Index { shard, resolved })),
        Err(Mismatch::OwnModuleMissing { .. }) => {
            Err(PlanError::NotNamed { module: job.module().to_owned(), path: job.shard().to_owned() })
        }
        Err(mismatch) => {
            let own = shard.modules().iter().find(|entry| entry.path == own).map(|entry| entry.id);
            Ok(Err(Unusable { reason: mismatch.to_string(), promise: own.map(|own| (shard, own)) }))
        }
    }
}

fn open(inputs: &mut Inputs, path: &str, module: &str) -> Result<Arc<Input>, PlanError> {
    let file = |error| PlanError::File { module: module.to_owned(), path: path.to_owned(), error };
    inputs.open(path).map_err(file)
}
