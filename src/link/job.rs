//! The job description: the JSON file in which the linker says what is to be compiled.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use serde_json::{Map, Value};

mod error;
mod shape;
mod side_files;

#[cfg(test)]
mod tests;

pub use error::{JobError, Kind};
pub use shape::{Shape, UnknownShape};

/// The largest job description that is read, 1 GiB: 100,000 jobs that import 70 modules each, with paths of 140 bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 1 << 30;

/// What stands in the JSON for each byte of a path that is not UTF-8: the linker's JSON writer puts it there.
const REPLACEMENT: char = '\u{FFFD}';

/// All backend jobs of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The file that the linker is going to write.
    pub linker_output: String,
    /// The compiler and the arguments that every job starts with; never empty.
    pub common_args: Vec<String>,
    /// Files that every job reads besides its own inputs, a sample profile for example.
    pub common_inputs: Vec<String>,
    /// The jobs; never empty.
    pub jobs: Vec<Job>,
}

/// One backend job. Its command is the common arguments followed by its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The arguments after the common ones; never empty.
    pub args: Vec<String>,
    /// The module, its summary index shard, and the modules it imports from; at least two.
    pub inputs: Vec<String>,
    /// The object first; at least one.
    pub outputs: Vec<String>,
}

impl Job {
    /// The bitcode file that is compiled.
    pub fn module(&self) -> &str {
        self.inputs.first().map_or("", String::as_str)
    }

    /// The module's summary index shard.
    pub fn shard(&self) -> &str {
        self.inputs.get(1).map_or("", String::as_str)
    }

    /// The bitcode files that the module imports from.
    pub fn imports(&self) -> &[String] {
        self.inputs.get(2..).unwrap_or_default()
    }

    /// The object to be written.
    pub fn output(&self) -> &str {
        self.outputs.first().map_or("", String::as_str)
    }
}

/// A name that may stand for another one: it holds the character U+FFFD, which the linker writes for bytes that are
/// not UTF-8. It is harmless only if [`Suspicious::witness`] exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspicious<'a> {
    /// The name as it stands in the description.
    pub name: &'a str,
    /// The file or folder that exists if this very name is meant.
    pub witness: &'a Path,
}

impl Suspicious<'_> {
    /// The error to report when the witness does not exist.
    pub fn error(&self) -> JobError {
        JobError::NotUtf8 { name: self.name.into() }
    }
}

impl Description {
    /// The words that start the compiler: the program, and what was prepended to reach the real one through a wrapper or
    /// a multicall binary. The linker puts `-c` behind them; options that were prepended for the compiler itself follow
    /// its name and are no part of this.
    pub fn compiler(&self) -> &[String] {
        self.split().0
    }

    /// The options that all jobs have, without `-c`.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        self.split().1.iter().map(String::as_str).filter(|option| *option != "-c")
    }

    fn split(&self) -> (&[String], &[String]) {
        let is_option = |argument: &String| argument.starts_with('-');
        let compile = self.common_args.iter().position(|argument| argument == "-c");
        let end = compile.or_else(|| self.common_args.iter().position(is_option)).unwrap_or(self.common_args.len());
        let words = self.common_args.iter().take(end).rposition(|argument| !is_option(argument)).map_or(1, |at| at + 1);
        self.common_args.split_at_checked(words).unwrap_or((&self.common_args, &[]))
    }

    /// The names that need a look at the file system: see [`Suspicious`]. Each is listed once.
    pub fn suspicious(&self) -> Vec<Suspicious<'_>> {
        let inputs = self.jobs.iter().flat_map(|job| &job.inputs).chain(&self.common_inputs);
        let inputs = inputs.map(|name| (name, Path::new(name)));
        // An object does not exist yet, its folder does.
        let outputs = self.jobs.iter().flat_map(|job| &job.outputs);
        let outputs = outputs.filter_map(|name| Some((name, Path::new(name).parent()?)));
        let mut seen = HashSet::new();
        let suspicious = inputs.chain(outputs).filter(|(name, witness)| {
            witness.to_str().is_some_and(|text| text.contains(REPLACEMENT)) && seen.insert(name.as_str())
        });
        suspicious.map(|(name, witness)| Suspicious { name, witness }).collect()
    }
}

/// Parses a job description. Fields that are not known are ignored: later LLVM versions add some.
///
/// # Errors
/// It is too large, not JSON, a field is missing, of the wrong type or empty, or a name holds a NUL character. The
/// error names the place; the caller adds the file's name.
pub fn parse(bytes: &[u8]) -> Result<Description, JobError> {
    if bytes.len() > MAX_DESCRIPTION_BYTES {
        return Err(JobError::TooLarge { bytes: bytes.len() });
    }
    let top: Value = serde_json::from_slice(bytes).map_err(|error| JobError::not_json(&error))?;
    let mut top = object(top, &Place::Top)?;
    let mut common = object(take(&mut top, &Place::Top, "common")?, &Place::Top.field("common"))?;
    let place = Place::Top.field("common");
    let linker_output = string(take(&mut common, &place, "linker_output")?, &place.field("linker_output"))?;
    let common_args = strings(&mut common, &place, "args", 1, "the compiler")?;
    let common_inputs = names(&mut common, &place, "inputs", 0, "")?;
    if common_args.first().is_some_and(String::is_empty) {
        return Err(JobError::Empty { place: place.field("args").item(0).to_string(), needs: "the compiler" });
    }
    let place = Place::Top.field("jobs");
    let jobs = array(take(&mut top, &Place::Top, "jobs")?, &place)?;
    if jobs.is_empty() {
        return Err(JobError::NoJobs);
    }
    let jobs = jobs.into_iter().enumerate().map(|(index, value)| job(value, &place.item(index)));
    let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
    each_output_once(&jobs, &place)?;
    Ok(Description { linker_output, common_args, common_inputs, jobs })
}

/// Two jobs that write one file would leave the object of whichever ends last.
fn each_output_once(jobs: &[Job], place: &Place<'_>) -> Result<(), JobError> {
    let mut seen = HashSet::new();
    for (index, job) in jobs.iter().enumerate() {
        for (at, name) in job.outputs.iter().enumerate() {
            if !seen.insert(name) {
                let place = place.item(index).field("outputs").item(at).to_string();
                return Err(JobError::SecondOutput { place, name: name.clone() });
            }
        }
    }
    Ok(())
}

fn job(value: Value, place: &Place<'_>) -> Result<Job, JobError> {
    let mut fields = object(value, place)?;
    Ok(Job {
        args: strings(&mut fields, place, "args", 1, "the arguments of the compiler")?,
        inputs: names(&mut fields, place, "inputs", 2, "a module and its summary index shard")?,
        outputs: names(&mut fields, place, "outputs", 1, "the object")?,
    })
}

/// Strings none of which is empty.
fn names(
    fields: &mut Map<String, Value>,
    place: &Place<'_>,
    field: &'static str,
    least: usize,
    needs: &'static str,
) -> Result<Vec<String>, JobError> {
    let names = strings(fields, place, field, least, needs)?;
    match names.iter().position(String::is_empty) {
        Some(index) => {
            Err(JobError::Empty { place: place.field(field).item(index).to_string(), needs: "the name of a file" })
        }
        None => Ok(names),
    }
}

/// An array of at least `least` strings.
fn strings(
    fields: &mut Map<String, Value>,
    place: &Place<'_>,
    field: &'static str,
    least: usize,
    needs: &'static str,
) -> Result<Vec<String>, JobError> {
    let value = take(fields, place, field)?;
    let place = place.field(field);
    let items = array(value, &place)?;
    if items.len() < least {
        return Err(JobError::TooFew { place: place.to_string(), found: items.len(), needs });
    }
    items.into_iter().enumerate().map(|(index, item)| string(item, &place.item(index))).collect()
}

fn take(fields: &mut Map<String, Value>, place: &Place<'_>, field: &'static str) -> Result<Value, JobError> {
    fields.remove(field).ok_or_else(|| JobError::Missing { place: place.field(field).to_string() })
}

fn object(value: Value, place: &Place<'_>) -> Result<Map<String, Value>, JobError> {
    match value {
        Value::Object(fields) => Ok(fields),
        other => Err(wrong_type(place, Kind::Object, &other)),
    }
}

fn array(value: Value, place: &Place<'_>) -> Result<Vec<Value>, JobError> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(wrong_type(place, Kind::Array, &other)),
    }
}

/// A string without NUL, which neither a file's name nor an argument can hold.
fn string(value: Value, place: &Place<'_>) -> Result<String, JobError> {
    match value {
        Value::String(text) if text.contains('\0') => Err(JobError::Nul { place: place.to_string() }),
        Value::String(text) => Ok(text),
        other => Err(wrong_type(place, Kind::String, &other)),
    }
}

fn wrong_type(place: &Place<'_>, expected: Kind, found: &Value) -> JobError {
    JobError::WrongType { place: place.to_string(), expected, found: Kind::of(found) }
}

/// Where a value stands, such as `jobs[3].inputs[1]`; costs nothing until it is printed.
enum Place<'a> {
    Top,
    Field(&'a Self, &'static str),
    Item(&'a Self, usize),
}

impl Place<'_> {
    fn field<'a>(&'a self, name: &'static str) -> Place<'a> {
        Place::Field(self, name)
    }

    fn item(&self, index: usize) -> Place<'_> {
        Place::Item(self, index)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => f.write_str("the top level"),
            Self::Field(Self::Top, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
