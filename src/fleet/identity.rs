//! Which compiler this is, and what a host calls it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokio::time::timeout;

use crate::backend::local;
use crate::link::command::Compile;
use crate::schedule::FIRST_DEADLINE;
use crate::words::plain;

/// The local compiler of a link.
#[derive(Clone, Debug)]
pub struct Identity {
    /// What it says for `--version`.
    pub version: String,
    /// What hosts are likely to call it.
    pub name: String,
}

impl Identity {
    /// Asks the compiler that these words start.
    ///
    /// # Errors
    /// It cannot be run or says nothing; in words.
    pub async fn ask(command: &[String]) -> Result<Self, String> {
        let version = version(command).await?;
        let name = remote_name(command, &version, |path| std::fs::canonicalize(path).ok());
        Ok(Self { version, name })
    }
}

async fn version(command: &[String]) -> Result<String, String> {
    let command: Vec<OsString> = command.iter().map(Into::into).chain(["--version".into()]).collect();
    let program =
        command.first().map(|program| program.to_string_lossy().escape_debug().to_string()).unwrap_or_default();
    let outcome = timeout(FIRST_DEADLINE, local::run(Compile { command, stdin: None, writes_files: false })).await;
    match outcome {
        Err(_) => Err(format!("{program} --version did not end within {} s", FIRST_DEADLINE.as_secs())),
        Ok(Err(error)) => Err(format!("{program} --version cannot be run: {}", plain(&error))),
        Ok(Ok(outcome)) if outcome.status.success() && !outcome.stdout.is_empty() => {
            Ok(String::from_utf8_lossy(&outcome.stdout).into_owned())
        }
        Ok(Ok(outcome)) => Err(format!("{program} --version failed ({})", outcome.status)),
    }
}

/// Whether two `--version` texts speak of the same compiler: equal but for where it is installed, which is no property
/// of the code it makes.
pub fn same_compiler(ours: &str, theirs: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        let kept = text.lines().map(str::trim_end).filter(|line| !line.starts_with("InstalledDir:"));
        kept.map(str::to_owned).collect()
    };
    let ours = lines(ours);
    !ours.is_empty() && ours == lines(theirs)
}

/// What hosts are likely to call the compiler: the versioned name that distributions install and distcc's whitelist
/// knows. From the program's own name when that is versioned (`clang-22`), else from the folder of its installation
/// (`/usr/lib/llvm-22/bin/clang`), else from the version it states; else its name.
fn remote_name(command: &[String], version: &str, resolve: impl Fn(&Path) -> Option<PathBuf>) -> String {
    // The last word is the compiler itself where a wrapper or a multicall binary stands before it.
    let program = command.last().map(PathBuf::from).unwrap_or_default();
    let resolved = resolve(&program);
    let name = file_name(&program);
    let candidates = [Some(&program), resolved.as_ref()];
    if let Some(name) = candidates.into_iter().flatten().map(|path| file_name(path)).find(|name| is_versioned(name)) {
        return name;
    }
    let stem = if name.contains("clang++") { "clang++" } else { "clang" };
    let from_folder = candidates.into_iter().flatten().find_map(|path| folder_version(path));
    match from_folder.or_else(|| stated_version(version)) {
        Some(major) => format!("{stem}-{major}"),
        None => name,
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn is_versioned(name: &str) -> bool {
    let version = name.strip_prefix("clang-").or_else(|| name.strip_prefix("clang++-"));
    version.is_some_and(|version| !version.is_empty() && version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// `22` of `/usr/lib/llvm-22/bin/clang`.
fn folder_version(path: &Path) -> Option<String> {
    let folder = path.parent()?.parent()?.file_name()?.to_str()?;
    let version = folder.strip_prefix("llvm-")?;
    version.chars().all(|c| c.is_ascii_digit()).then(|| version.to_owned()).filter(|version| !version.is_empty())
}

/// `22` of `Debian clang version 22.1.8 (1~deb12u1)`.
fn stated_version(text: &str) -> Option<String> {
    let (_, rest) = text.lines().next()?.split_once("clang version ")?;
    let major: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!major.is_empty()).then_some(major)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = "Debian clang version 22.1.8 (1~deb12u1)\nTarget: x86_64-pc-linux-gnu\nThread model: posix\n\
                           InstalledDir: /usr/lib/llvm-22/bin\n";

    fn name(words: &[&str], version: &str) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        remote_name(&words, version, |_| None)
    }

    #[test]
    fn the_name_comes_from_the_program_its_folder_or_its_version() {
        assert_eq!(name(&["/usr/lib/llvm-22/bin/clang"], ""), "clang-22");
        assert_eq!(name(&["/usr/bin/clang-22"], ""), "clang-22");
        assert_eq!(name(&["/opt/llvm/bin/clang"], VERSION), "clang-22");
        assert_eq!(name(&["/opt/llvm/bin/clang++"], VERSION), "clang++-22");
        assert_eq!(name(&["/usr/bin/ccache", "/usr/lib/llvm-21/bin/clang"], VERSION), "clang-21");
        assert_eq!(name(&["/usr/bin/llvm", "clang"], VERSION), "clang-22");
        assert_eq!(name(&["/opt/own/mycc"], "mycc 3"), "mycc");
    }

    #[test]
    fn a_link_is_followed_to_a_versioned_name() {
        let words = ["/usr/local/bin/cc".to_owned()];
        let resolve = |_: &Path| Some(PathBuf::from("/opt/llvm/bin/clang-22"));
        assert_eq!(remote_name(&words, "", resolve), "clang-22");
    }

    #[test]
    fn the_place_of_installation_is_no_difference_and_all_else_is() {
        assert!(same_compiler(VERSION, &VERSION.replace("/usr/lib/llvm-22/bin", "/opt/bin")));
        assert!(!same_compiler(VERSION, &VERSION.replace("22.1.8", "22.1.7")));
        assert!(!same_compiler(VERSION, &format!("{VERSION}Configuration file: /etc/clang/clang.cfg\n")));
        assert!(!same_compiler("", ""));
    }
}
