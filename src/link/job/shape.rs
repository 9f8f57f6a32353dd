//! Which of a job's arguments name its files. To run a job anywhere else these have to be replaced; a job whose
//! arguments are not understood can still run here, exactly as the linker gave it.

use std::fmt;

use super::{Description, Job};

/// How the argument with the summary index shard starts.
const INDEX: &str = "-fthinlto-index=";

/// Options whose next word is for another program, which may have options that start with `-o`: LLVM's
/// `-opt-bisect-limit`, say. (That of `-Xclang` is for clang's front end, which see in [`words`].)
const PASSES_ON: [&str; 4] = ["-mllvm", "-Xassembler", "-Xlinker", "-Xpreprocessor"];

/// Where a job's arguments name its files: indices into [`Job::args`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The module.
    pub module: usize,
    /// `-fthinlto-index=` with the shard.
    pub index: usize,
    /// The object, one after its `-o`.
    pub output: usize,
}

impl Shape {
    /// The job's arguments other than these: none in LLVM 21 and 22.
    pub fn others(self, job: &Job) -> impl Iterator<Item = &str> {
        let own = [Some(self.module), Some(self.index), Some(self.output), self.output.checked_sub(1)];
        job.args.iter().enumerate().filter(move |(at, _)| !own.contains(&Some(*at))).map(|(_, arg)| arg.as_str())
    }
}

/// Why the arguments of a job are not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownShape {
    /// The common arguments already name an output or a shard.
    Common,
    /// The module is not named, or more than once.
    Module,
    /// There is no `-fthinlto-index=` with the shard, or more than one.
    Index,
    /// There is no `-o` with the object, or more than one.
    Output,
}

impl fmt::Display for UnknownShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Common => "the common arguments name an output or a summary index",
            Self::Module => "its arguments do not name the module exactly once",
            Self::Index => "its arguments do not name the summary index shard exactly once",
            Self::Output => "its arguments do not name the output exactly once",
        })
    }
}

impl Description {
    /// Finds the files in a job's arguments.
    ///
    /// # Errors
    /// They are not where LLVM 21 and 22 put them. Such a job can only run as it stands.
    pub fn shape(&self, job: &Job) -> Result<Shape, UnknownShape> {
        let mut common = words(self.common_args.get(1..).unwrap_or_default());
        if common.any(|(_, arg)| arg.starts_with("-o") || arg.starts_with(INDEX)) {
            return Err(UnknownShape::Common);
        }
        job.shape()
    }
}

impl Job {
    fn shape(&self) -> Result<Shape, UnknownShape> {
        let (mut modules, mut indices, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        let mut args = words(&self.args);
        while let Some((at, arg)) = args.next() {
            if arg == "-o" {
                outputs.extend(args.next());
            } else if let Some(shard) = arg.strip_prefix(INDEX) {
                indices.push((at, shard));
            } else if arg == self.module() {
                modules.push(at);
            } else if arg.starts_with("-o") {
                return Err(UnknownShape::Output);
            }
        }
        let &[module] = modules.as_slice() else { return Err(UnknownShape::Module) };
        let &[(index, shard)] = indices.as_slice() else { return Err(UnknownShape::Index) };
        let &[(output, object)] = outputs.as_slice() else { return Err(UnknownShape::Output) };
        if shard != self.shard() {
            return Err(UnknownShape::Index);
        }
        if object != self.output() {
            return Err(UnknownShape::Output);
        }
        Ok(Shape { module, index, output })
    }
}

/// The arguments that mean something to the compiler, with their indices: all but the words that it passes on. Of those
/// for the front end, the two that name files there as well stay: `-o` and the shard.
fn words(args: &[String]) -> impl Iterator<Item = (usize, &str)> {
    let mut before = None;
    args.iter().map(String::as_str).enumerate().filter(move |&(_, arg)| {
        let passed_on = match before {
            Some("-Xclang") => arg != "-o" && !arg.starts_with(INDEX),
            Some(option) => PASSES_ON.contains(&option),
            None => false,
        };
        // A word that belongs to the one before takes none itself.
        before = (!passed_on && before != Some("-o")).then_some(arg);
        !passed_on
    })
}
