//! Which program the compiler is.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::EnvironmentError;
use super::elf::{self, Elf};
use super::run::ask;

/// Programs that start a compiler found on the PATH, and so are none themselves.
const WRAPPERS: &[&str] = &["ccache", "sccache", "distcc", "icecc"];

/// The newest compiler that is looked for by its number where there is no `clang-22`.
const NEWEST: u32 = 99;

/// The oldest one: the first whose linker knows distributors.
const OLDEST: u32 = 21;

/// A program that can be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Compiler {
    /// Its file, with all links resolved.
    pub(super) program: PathBuf,
    /// What it was called, where it is many programs and does what it is called; otherwise its file's name.
    pub(super) name: String,
    /// Arguments that come before all others: the tool's name for a program that is many.
    pub(super) arguments: Vec<String>,
    /// What the dynamic linker is asked to start it; `None`: it is static.
    pub(super) interpreter: Option<PathBuf>,
    /// The icecream name of the platform it runs on.
    pub(super) platform: String,
}

/// What a compiler says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// The whole text.
    pub(super) text: String,
    /// The configuration files that it reads by itself.
    pub(super) configuration: Vec<PathBuf>,
}

/// The compiler that is meant where none is named: `clang-22`, else the one of the highest number, else `clang`.
pub fn default_compiler() -> String {
    let path = std::env::var_os("PATH");
    let numbered = std::iter::once(22).chain((OLDEST..=NEWEST).rev()).map(|number| format!("clang-{number}"));
    let mut names = numbered.chain(["clang".to_owned()]);
    names.find(|name| on_path(name, path.as_deref()).is_some()).unwrap_or_else(|| "clang-22".into())
}

impl Compiler {
    /// The compiler that the words start: the last of them where that is a program itself (the ones before are then a
    /// wrapper such as ccache), otherwise the first, with the rest as its first arguments.
    pub(super) fn find(words: &[String], path: Option<&OsStr>) -> Result<Self, EnvironmentError> {
        let not_found = |name: &str| EnvironmentError::NotFound { name: name.to_owned() };
        let (first, rest) = words.split_first().ok_or_else(|| not_found(""))?;
        let is_program = |path: &Path| std::fs::canonicalize(path).is_ok_and(|program| Elf::open(&program).is_ok());
        if let Some(last) = rest.last().map(Path::new).filter(|last| last.is_absolute() && is_program(last)) {
            return Self::of(last, &[]);
        }
        let program = match first.contains('/') {
            true => PathBuf::from(first),
            false => on_path(first, path).ok_or_else(|| not_found(first))?,
        };
        Self::of(&program, rest)
    }

    fn of(given: &Path, arguments: &[String]) -> Result<Self, EnvironmentError> {
        let missing = |_| EnvironmentError::NotFound { name: given.to_string_lossy().into_owned() };
        let program = std::fs::canonicalize(given).map_err(missing)?;
        let unfit = |what: &str, mend| EnvironmentError::Unfit { path: program.clone(), what: what.into(), mend };
        let file_name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (called, own) = (file_name(given), file_name(&program));
        if WRAPPERS.contains(&own.as_str()) {
            return Err(unfit("starts other compilers and is none itself", "name the compiler that it starts"));
        }
        let elf = Elf::open(&program)?;
        let facts = elf.facts()?;
        if !elf::runs_here(facts.machine) {
            return Err(unfit("is a program for another machine", "name a compiler that runs on this one"));
        }
        // A program that is all of LLVM's tools does what it is called; a plain clang is called in many ways.
        let name = if own.contains("clang") { own } else { called };
        let platform = rustix::system::uname().machine().to_string_lossy().into_owned();
        Ok(Self { name, arguments: arguments.to_vec(), interpreter: facts.interpreter, platform, program })
    }

    /// A command that starts it. It is called what it was called, as it was.
    pub(super) fn command(&self) -> Command {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(&self.program);
        command.arg0(self.program.with_file_name(&self.name)).args(&self.arguments);
        command
    }

    /// Asks for the version.
    pub(super) fn version(&self) -> Result<Version, EnvironmentError> {
        let mut command = self.command();
        let answer = ask(command.arg("--version"))?;
        if !answer.status.success() {
            let what = format!("failed ({}) {}", answer.status, answer.complaint());
            return Err(EnvironmentError::NoAnswer { command: super::run::words(&command), what: what.trim().into() });
        }
        Ok(Version::parse(answer.stdout))
    }
}

impl Version {
    fn parse(text: String) -> Self {
        let files = text.lines().filter_map(|line| line.strip_prefix("Configuration file: "));
        Self { configuration: files.map(PathBuf::from).collect(), text }
    }

    /// What the environment's name says of the compiler, such as `clang-22`, in characters that every host takes.
    pub(super) fn title(&self, program: &str) -> String {
        let stated = self.text.lines().next().and_then(|line| line.split_once("clang version "));
        let major = stated.map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        match major.filter(|major| !major.is_empty()) {
            Some(major) => format!("clang-{major}"),
            None => program.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.+".contains(*c)).take(40).collect(),
        }
    }
}

fn on_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    use rustix::fs::{Access, access};
    let mut folders = std::env::split_paths(path?);
    let program = |folder: PathBuf| Some(folder.join(name)).filter(|file| file.is_file());
    folders.find_map(|folder| program(folder).filter(|file| access(file, Access::EXEC_OK).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_says_which_compiler_it_is() {
        let title = |text: &str, program: &str| Version::parse(text.into()).title(program);
        assert_eq!(title("Debian clang version 22.1.8 (1~deb12u1)\nTarget: x\n", "clang"), "clang-22");
        assert_eq!(title("clang version git\n", "clang-23"), "clang-23");
        assert_eq!(title("my compiler 3", "my/cc é\n1"), "mycc1");
    }

    #[test]
    fn configuration_files_are_those_that_the_version_names() {
        let text = "clang version 22.1.8\nInstalledDir: /usr/bin\nConfiguration file: /etc/clang/a b.cfg\n";
        assert_eq!(Version::parse(text.into()).configuration, [Path::new("/etc/clang/a b.cfg")]);
    }
}
