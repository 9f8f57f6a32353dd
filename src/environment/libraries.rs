//! Which shared libraries a program is started with: the dynamic linker is asked, as nobody knows better.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::EnvironmentError;
use super::compiler::Compiler;
use super::elf::Elf;
use super::run::{self, ask};

/// A shared library that the program is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Library {
    /// What others need it by: a name, or the path where that is how they need it.
    pub(super) name: String,
    /// Where it is found, its folder with all links resolved.
    pub(super) path: PathBuf,
    /// What it needs itself.
    pub(super) needed: Vec<String>,
}

impl Library {
    /// Where it is put in the environment: in its own folder, under the name that others need it by.
    pub(super) fn place(&self) -> PathBuf {
        self.path.with_file_name(Path::new(&self.name).file_name().unwrap_or_default())
    }
}

/// The libraries of the compiler, in the order in which they are loaded; none for a static one.
pub(super) fn of(compiler: &Compiler) -> Result<Vec<Library>, EnvironmentError> {
    let Some(interpreter) = &compiler.interpreter else { return Ok(Vec::new()) };
    let mut command = Command::new(interpreter);
    let answer = ask(command.arg("--list").arg(&compiler.program))?;
    let (found, missing) = parse(&answer.stdout);
    if let Some(library) = missing.or_else(|| complaint(&answer.stderr)) {
        return Err(EnvironmentError::MissingLibrary { compiler: compiler.program.clone(), library });
    }
    if !answer.status.success() {
        let what = format!("failed ({}) {}", answer.status, answer.complaint());
        return Err(EnvironmentError::NoAnswer { command: run::words(&command), what: what.trim().into() });
    }
    let own = std::fs::canonicalize(interpreter).map_err(EnvironmentError::reading(interpreter))?;
    let mut libraries = Vec::new();
    for (name, path) in found {
        // musl's library is its dynamic linker.
        if std::fs::canonicalize(&path).is_ok_and(|path| path == own) {
            continue;
        }
        let path = baseline(&in_resolved_folder(&path)?);
        let needed = Elf::open(&path)?.facts()?.needed;
        libraries.push(Library { name, path, needed });
    }
    Ok(libraries)
}

/// Names and paths, and the first name for which there is no path.
///
/// The lines are `name => path (address)`, `path (address)`, `name => not found` and, for what has no file, `name
/// (address)`.
pub(super) fn parse(list: &str) -> (Vec<(String, PathBuf)>, Option<String>) {
    let mut found = Vec::new();
    let mut missing = None;
    for line in list.lines().map(str::trim) {
        let line = line.rsplit_once(" (0x").map_or(line, |(line, _)| line);
        match line.split_once(" => ") {
            Some((name, "not found")) => missing = missing.or(Some(name.to_owned())),
            Some((name, path)) if path.starts_with('/') => found.push((name.to_owned(), PathBuf::from(path))),
            None if line.starts_with('/') => found.push((line.to_owned(), PathBuf::from(line))),
            _ => {}
        }
    }
    (found, missing)
}

/// The library that the dynamic linker could not find, in the words of glibc or musl.
fn complaint(stderr: &str) -> Option<String> {
    let glibc = "error while loading shared libraries: ";
    let of_line = |line: &str| match line.split_once(glibc) {
        Some((_, rest)) => rest.split(':').next().map(str::to_owned),
        None => line.strip_prefix("Error loading shared library ")?.split(':').next().map(str::to_owned),
    };
    stderr.lines().find_map(of_line)
}

fn in_resolved_folder(path: &Path) -> Result<PathBuf, EnvironmentError> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => {
            Ok(std::fs::canonicalize(folder).map_err(EnvironmentError::reading(path))?.join(name))
        }
        _ => Ok(path.to_owned()),
    }
}

/// The library for any machine of the kind, where this machine takes one for its own processor
/// (`lib/glibc-hwcaps/x86-64-v3/libz.so.1`): hosts may be older.
fn baseline(path: &Path) -> PathBuf {
    let plain = path.parent().and_then(Path::parent).filter(|folder| folder.ends_with("glibc-hwcaps"));
    let plain = plain.and_then(Path::parent).zip(path.file_name()).map(|(folder, name)| folder.join(name));
    plain.filter(|plain| plain.is_file()).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_both_dynamic_linkers_are_understood() {
        let list = "\tlinux-vdso.so.1 (0x00007ffe)\n\tliba.so.1 => /opt/my libs/liba.so.1 (0x00007f76)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f76)\n\tlibgone.so.3 => not found\n";
        let (found, missing) = parse(list);
        let interpreter = "/lib64/ld-linux-x86-64.so.2";
        let expected = [("liba.so.1", "/opt/my libs/liba.so.1"), (interpreter, interpreter)];
        assert_eq!(found, expected.map(|(name, path)| (name.to_owned(), PathBuf::from(path))));
        assert_eq!(missing.as_deref(), Some("libgone.so.3"));
    }

    #[test]
    fn complaints_name_the_library() {
        let glibc = "cc: error while loading shared libraries: libx.so.1: cannot open shared object file: No such file";
        assert_eq!(complaint(glibc).as_deref(), Some("libx.so.1"));
        let musl = "Error loading shared library libx.so.1: No such file or directory (needed by cc)";
        assert_eq!(complaint(musl).as_deref(), Some("libx.so.1"));
        assert_eq!(complaint("something else"), None);
    }

    #[test]
    fn libraries_for_newer_processors_are_replaced_by_those_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let special = folder.path().join("glibc-hwcaps/x86-64-v3");
        std::fs::create_dir_all(&special).unwrap();
        std::fs::write(folder.path().join("libz.so"), "").unwrap();
        assert_eq!(baseline(&special.join("libz.so")), folder.path().join("libz.so"));
        assert_eq!(baseline(&special.join("liby.so")), special.join("liby.so"));
    }
}
