//! Messages between a client and a compile server about one job.

use crate::icecream::Text;
use crate::icecream::error::Fault;
use crate::icecream::fields::{Reader, Writer};

/// The language of a source; the numbers are those on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// C.
    C = 0,
    /// C++.
    Cxx = 1,
    /// Objective-C.
    ObjectiveC = 2,
    /// Objective-C++.
    ObjectiveCxx = 3,
    /// Something else, which compile servers do not know how to compile.
    Custom = 4,
}

impl Language {
    /// The language's number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        let number = reader.number("language")?;
        let all = [Self::C, Self::Cxx, Self::ObjectiveC, Self::ObjectiveCxx, Self::Custom];
        let found = all.into_iter().find(|language| language.number() == number);
        found.ok_or_else(|| reader.bad_number("language", number))
    }
}

/// Compile a file, which follows as chunks.
///
/// A stock compile server runs `/usr/bin/COMPILER -x LANGUAGE FLAGS - -o OUTPUT` in the environment, the file on standard
/// input and OUTPUT a name that it makes up; where the compiler's name contains `clang`, input file and working
/// directory become further options unless they are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileFile {
    /// The language.
    pub language: Language,
    /// The job's number at the scheduler.
    pub job_id: u32,
    /// The compiler's arguments but the input and the output.
    pub flags: Vec<Text>,
    /// The environment's name; `__client` to a local daemon, for a job that the client compiles itself.
    pub environment: Text,
    /// The platform that is compiled for.
    pub target: Text,
    /// The name of the compiler in the environment, such as `clang`. A stock server throws the environment away if it is
    /// not there.
    pub compiler: Text,
    /// The source's name at the client. Since version 34, else empty.
    pub input_file: Text,
    /// The client's working directory. Since version 34, else empty.
    pub working_directory: Text,
    /// The output's name at the client. Since version 35, else empty.
    pub output_file: Text,
    /// Whether debug information goes to a second file. Since version 35, else false.
    pub split_dwarf: bool,
}

impl CompileFile {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        let language = Language::read(reader)?;
        let job_id = reader.number("job id")?;
        let mut flags = reader.texts("flags")?;
        if !reader.since(41) {
            flags.extend(reader.texts("further flags")?);
        }
        Ok(Self {
            language,
            job_id,
            flags,
            environment: reader.text("environment")?,
            target: reader.text("target")?,
            compiler: reader.text("compiler")?,
            input_file: reader.text_since(34, "input file")?,
            working_directory: reader.text_since(34, "working directory")?,
            output_file: reader.text_since(35, "output file")?,
            split_dwarf: reader.flag_since(35, "split dwarf flag")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number(self.language.number());
        writer.number(self.job_id);
        writer.texts(&self.flags);
        if !writer.since(41) {
            writer.texts(&[]);
        }
        writer.text(&self.environment);
        writer.text(&self.target);
        writer.text(&self.compiler);
        writer.text_since(34, &self.input_file);
        writer.text_since(34, &self.working_directory);
        writer.text_since(35, &self.output_file);
        writer.number_since(35, self.split_dwarf.into());
    }
}

/// How a compilation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileResult {
    /// What the compiler wrote to standard error, up to the first zero byte.
    pub stderr: Text,
    /// What the compiler wrote to standard output, up to the first zero byte.
    pub stdout: Text,
    /// The compiler's exit status; 128 and the signal's number if it was killed. An object follows if it is 0.
    pub status: i32,
    /// Whether the host was the reason: out of memory, out of disk space, or input that did not come.
    pub out_of_memory: bool,
    /// Whether a file with debug information follows the object. Since version 35, else false.
    pub has_dwo: bool,
}

impl CompileResult {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        Ok(Self {
            stderr: reader.text("stderr")?,
            stdout: reader.text("stdout")?,
            status: reader.signed("status")?,
            out_of_memory: reader.flag("out of memory flag")?,
            has_dwo: reader.flag_since(35, "dwo flag")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.text(&self.stderr);
        writer.text(&self.stdout);
        writer.number(self.status.cast_unsigned());
        writer.number(self.out_of_memory.into());
        writer.number_since(35, self.has_dwo.into());
    }
}
