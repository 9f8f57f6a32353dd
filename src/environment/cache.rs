//! Environments that were made before.
//!
//! Each compiler has a record: the environment's facts, and what every file looked like that went in. As long as they
//! look the same the archive is taken as it is. Archives and records appear whole or not at all; whoever makes one holds
//! a lock, so that two links make it once. All of it is this user's alone: hosts run what is in an archive, and believe
//! that it comes from us.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::compiler::Compiler;
use super::contents::Contents;
use super::proof;
use super::standin::{self, Choice};
use super::{ENTRY, Environment, EnvironmentError, archive, libraries};
use crate::backend::slots::{is_own, own_folder};

/// Changes whenever the same files would be packed in another way.
const FORMAT: u32 = 1;

/// How long another link is waited for that makes an environment. It takes some seconds; one that takes longer is stuck.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two looks at the lock.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Longest record in bytes. That of a compiler with twenty libraries has three thousand.
const MAX_RECORD_LEN: usize = 1024 * 1024;

/// What is known of an environment that was made.
#[derive(Debug, Deserialize, Serialize)]
struct Record {
    format: u32,
    entry: String,
    name: String,
    packed: u64,
    unpacked: u64,
    left_out: Vec<String>,
    inputs: Vec<Input>,
}

/// What a file looked like.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
struct Input {
    path: PathBuf,
    /// `None`: it was not there.
    facts: Option<InputFacts>,
}

#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
struct InputFacts {
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Where environments are kept: `$XDG_CACHE_HOME/thinbridge`, else `~/.cache/thinbridge`. Where neither is known, the
/// folder for temporary files.
pub fn cache_folder() -> PathBuf {
    // As the XDG specification says, a relative path counts as none.
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    folder.unwrap_or_else(std::env::temp_dir).join("thinbridge")
}

/// A folder for temporary files that belongs to this user alone.
pub(super) fn temporary_folder() -> Result<PathBuf, String> {
    let user = rustix::process::geteuid().as_raw();
    own_folder(&std::env::temp_dir().join(format!("thinbridge-{user}")), user)
}

/// The environment of the compiler, if it is there.
pub(super) fn kept(compiler: &Compiler, cache: &Path) -> Option<Environment> {
    let (folder, record) = places(compiler, cache);
    is_ours_alone(cache, &folder).then(|| find(compiler, &folder, &record)).flatten()
}

/// Makes the folder, for this user alone, or finds it so. Nothing is made in a folder of somebody else, such as the one
/// that the variables name under `sudo -E`.
fn make_folder(cache: &Path, folder: &Path) -> Result<(), EnvironmentError> {
    let foreign = || io::Error::new(io::ErrorKind::PermissionDenied, "not a folder that only this user can write");
    let check = || is_ours_alone(cache, folder).then_some(()).ok_or_else(foreign);
    let make = || DirBuilder::new().recursive(true).mode(0o700).create(folder);
    // Somebody may be faster in a folder that all can write, such as `/tmp`.
    check().and_then(|()| make()).and_then(|()| check()).map_err(EnvironmentError::writing(folder))
}

/// Whether only this user can write in these folders, as far as they exist, and nobody can put others in their places.
fn is_ours_alone(cache: &Path, folder: &Path) -> bool {
    /// `S_IWOTH`: others can write.
    const WRITABLE: u32 = 0o002;
    /// `S_ISVTX`: but not remove or rename what is not theirs.
    const STICKY: u32 = 0o1000;
    let user = rustix::process::geteuid().as_raw();
    let mut own = [folder, cache].into_iter().filter_map(|path| fs::metadata(path).ok());
    let around = cache.ancestors().skip(1).find_map(|path| fs::metadata(path).ok());
    let is_safe = |facts: fs::Metadata| {
        [user, 0].contains(&facts.uid()) && (facts.mode() & WRITABLE == 0 || facts.mode() & STICKY != 0)
    };
    own.all(|facts| is_own(&facts, user)) && around.is_some_and(is_safe)
}

fn places(compiler: &Compiler, cache: &Path) -> (PathBuf, PathBuf) {
    let folder = cache.join("environments");
    let record = folder.join(format!("{}.json", key(compiler)));
    (folder, record)
}

/// The environment of the compiler, made when it is not there yet.
pub(super) fn obtain(compiler: &Compiler, cache: &Path) -> Result<Environment, EnvironmentError> {
    if let Some(environment) = kept(compiler, cache) {
        return Ok(environment);
    }
    let (folder, record) = places(compiler, cache);
    make_folder(cache, &folder)?;
    // Without a lock, two may make the same at once, which is only a waste.
    let lock = lock(&folder.join("lock"))?;
    if let Some(environment) = find(compiler, &folder, &record) {
        return Ok(environment);
    }
    if lock.is_some() {
        remove_unfinished(&folder);
    }
    let environment = make(compiler, &folder, &record)?;
    remove_unused(&folder);
    Ok(environment)
}

/// What tells one compiler from another, and the same one started in other ways.
fn key(compiler: &Compiler) -> String {
    let mut hasher = blake3::Hasher::new();
    let Compiler { program, name, arguments, .. } = compiler;
    let libraries = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    for part in [program.as_os_str(), name.as_ref(), libraries.as_ref()] {
        hasher.update(part.as_encoded_bytes()).update(&[0]);
    }
    arguments.iter().for_each(|argument| _ = hasher.update(argument.as_bytes()).update(&[0]));
    hasher.finalize().to_hex().chars().take(16).collect()
}

fn find(compiler: &Compiler, folder: &Path, record: &Path) -> Option<Environment> {
    let record = Record::read(record).filter(Record::is_current)?;
    let environment = record.environment(compiler, folder);
    let is_whole = fs::metadata(&environment.archive).is_ok_and(|facts| facts.len() == environment.packed);
    is_whole.then_some(environment)
}

fn make(compiler: &Compiler, folder: &Path, place: &Path) -> Result<Environment, EnvironmentError> {
    // Looked at before they are read: what changes meanwhile is made anew the next time.
    let libraries = libraries::of(compiler)?;
    let version = compiler.version()?;
    let sources = [&compiler.program].into_iter().chain(&compiler.interpreter).chain(&version.configuration);
    let sources = sources.chain(libraries.iter().map(|library| &library.path));
    let inputs = sources.map(|path| Input::of(path)).chain(absent(compiler)).collect();

    // Whatever is wrong with the stand-ins, the real libraries are right.
    let choice = standin::choose(compiler, &libraries).ok().flatten();
    let choice = choice.filter(|choice| proof::holds(compiler, &version, choice, folder).unwrap_or(false));
    let choice = choice.unwrap_or_else(|| Choice::all(&libraries));
    let contents = Contents::new(compiler, &version, &choice)?;
    let archive = Unfinished(folder.join(format!(".{}.tmp", std::process::id())));
    let packed = archive::write(&contents, &archive.0)?;
    let name = format!("thinbridge-{}-{}", version.title(&compiler.name), short(&packed.digest));
    let left_out = libraries.iter().filter(|library| !choice.kept.contains(library));
    let record = Record {
        format: FORMAT,
        entry: entry(),
        name,
        packed: packed.packed,
        unpacked: packed.unpacked,
        left_out: left_out.map(|library| library.name.clone()).collect(),
        inputs,
    };
    let environment = record.environment(compiler, folder);
    fs::rename(&archive.0, &environment.archive).map_err(EnvironmentError::writing(&environment.archive))?;
    record.write(place).map_err(EnvironmentError::writing(place))?;
    Ok(environment)
}

/// Configuration files that the compiler would read if they came.
fn absent(compiler: &Compiler) -> impl Iterator<Item = Input> {
    let candidates = ["clang.cfg", "clang++.cfg"].map(|name| compiler.program.with_file_name(name));
    let candidates = candidates.into_iter().chain([PathBuf::from("/etc/clang.cfg")]);
    candidates.map(|path| Input::of(&path)).filter(|input| input.facts.is_none())
}

fn short(digest: &blake3::Hash) -> String {
    digest.to_hex().chars().take(20).collect()
}

fn entry() -> String {
    short(&blake3::hash(ENTRY))
}

/// Waits for the lock; `None`: nobody gives it back in time.
fn lock(path: &Path) -> Result<Option<File>, EnvironmentError> {
    let file = File::create(path).map_err(EnvironmentError::writing(path))?;
    let limit = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < limit => thread::sleep(LOOK_AGAIN),
            // A file system without locks is as good as a lock that nobody gives back.
            Err(_) => return Ok(None),
        }
    }
}

/// A file that is removed unless it was renamed.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Removes what links left that were killed while they made an environment.
fn remove_unfinished(folder: &Path) {
    for path in paths(folder).iter().filter(|path| is_unfinished(path)) {
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    }
}

/// Whether this is an unfinished file, or a folder for a proof, of a process that is no more. One of a link on another
/// machine, with the same home, holds the lock as long as it works.
fn is_unfinished(path: &Path) -> bool {
    let process = path.extension().filter(|it| *it == "tmp").and(path.file_stem()).and_then(|stem| stem.to_str());
    let process = process.and_then(|stem| stem.rsplit(['.', '-']).next()?.parse().ok());
    let process = process.filter(|process| *process > 0).and_then(Pid::from_raw);
    process.is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
}

/// Removes what nobody will use again: records of compilers that have changed or are gone, archives without a record.
/// Who has one of them open keeps it.
fn remove_unused(folder: &Path) {
    let paths = paths(folder);
    let with =
        |extension: &'static str| paths.iter().filter(move |path| path.extension().is_some_and(|it| it == extension));
    let mut used = Vec::new();
    for path in with("json") {
        match Record::read(path).filter(Record::is_current) {
            Some(record) => used.push(folder.join(record.archive())),
            None => _ = fs::remove_file(path),
        }
    }
    with("zst").filter(|path| !used.contains(path)).for_each(|path| _ = fs::remove_file(path));
}

fn paths(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

impl Record {
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&crate::files::read_at_most(path, MAX_RECORD_LEN).ok()?).ok()
    }

    /// Appears whole or not at all.
    fn write(&self, path: &Path) -> io::Result<()> {
        let unfinished = Unfinished(path.with_extension(format!("{}.tmp", std::process::id())));
        fs::write(&unfinished.0, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&unfinished.0, path)
    }

    /// Whether it is of this program, and no file has changed.
    fn is_current(&self) -> bool {
        let unchanged = |input: &Input| *input == Input::of(&input.path);
        // The name is a file's name here.
        let is_name = !self.name.contains('/');
        self.format == FORMAT && self.entry == entry() && is_name && self.inputs.iter().all(unchanged)
    }

    fn archive(&self) -> String {
        format!("{}.tar.zst", self.name)
    }

    fn environment(&self, compiler: &Compiler, folder: &Path) -> Environment {
        Environment {
            name: self.name.clone(),
            archive: folder.join(self.archive()),
            platform: compiler.platform.clone(),
            packed: self.packed,
            unpacked: self.unpacked,
            left_out: self.left_out.clone(),
        }
    }
}

impl Input {
    fn of(path: &Path) -> Self {
        let facts = fs::metadata(path).ok().map(|facts| InputFacts {
            size: facts.len(),
            inode: facts.ino(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            changed: (facts.ctime(), facts.ctime_nsec()),
        });
        Self { path: path.to_owned(), facts }
    }
}
