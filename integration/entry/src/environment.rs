//! Whether the environment is as it was sent.
//!
//! A compile server installs what it was sent without a look at it: on a full disk the files get their full size but
//! not their full content, so sizes alone prove nothing.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thinbridge_protocol::manifest::{self, Manifest, TAIL_LEN};

use crate::compiler;
use crate::failure::Failure;

/// The manifest of the environment at `root`.
pub(crate) fn read(root: &Path) -> Result<Manifest, Failure> {
    let path = within(root, manifest::PATH);
    let broken = |what: &dyn std::fmt::Display| Failure::Environment(format!("{}: {what}", path.display()));
    let file = File::open(&path).map_err(|error| broken(&error))?;
    let mut text = Vec::new();
    let cap = u64::try_from(manifest::MAX_LEN).unwrap_or(u64::MAX);
    file.take(cap).read_to_end(&mut text).map_err(|error| broken(&error))?;
    Manifest::parse(&text).map_err(|error| broken(&error))
}

/// A path of the manifest, below `root`.
pub(crate) fn within(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// Looks at what can be seen at once: every file's size and its end.
pub(crate) fn check(root: &Path, manifest: &Manifest) -> Result<(), Failure> {
    for file in &manifest.files {
        check_file(root, file, false)?;
    }
    Ok(())
}

/// The self-test, for the compile server to run when it was sent the environment: every byte is as it was sent, and the
/// compiler starts.
pub(crate) fn test(root: &Path) -> ExitCode {
    match try_test(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report().into(),
    }
}

fn try_test(root: &Path) -> Result<(), Failure> {
    let manifest = read(root)?;
    for file in &manifest.files {
        check_file(root, file, true)?;
    }
    compiler::try_start(root, &manifest)
}

fn check_file(root: &Path, expected: &manifest::File, wholly: bool) -> Result<(), Failure> {
    let broken = |what: String| Failure::Environment(format!("{}: {what}", expected.path));
    let read = |error: io::Error| broken(error.to_string());
    let mut file = File::open(within(root, &expected.path)).map_err(read)?;
    let size = file.metadata().map_err(read)?.len();
    if size != expected.size {
        return Err(broken(format!("{size} bytes instead of {}", expected.size)));
    }
    let (digest, start) = match wholly {
        true => (expected.digest, 0),
        false => (expected.tail, size.saturating_sub(TAIL_LEN)),
    };
    file.seek(SeekFrom::Start(start)).map_err(read)?;
    // An environment of another process may grow while it is read.
    let found = digest_of(&mut file.take(size.saturating_sub(start))).map_err(read)?;
    if found == digest { Ok(()) } else { Err(broken("the content is damaged".into())) }
}

fn digest_of(file: &mut impl Read) -> io::Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(*hasher.finalize().as_bytes()),
            Ok(length) => _ = hasher.update(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
