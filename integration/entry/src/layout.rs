//! Receives a bundle and lays its files out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use thinbridge_protocol::bundle::{FileFact, Head, PRELUDE_LEN, head_length};

use crate::failure::Failure;
use crate::folder::Folder;

/// How much is read at once, in bytes.
const PIECE_LEN: usize = 256 * 1024;

/// Reads the input to its end and lays the files out in the job's folder, each proven by its digest. Returns the
/// compiler's arguments.
pub(crate) fn receive(input: &mut impl Read, folder: &Folder) -> Result<Vec<Vec<u8>>, Failure> {
    let head = read_head(input)?;
    let work = folder.work();
    let mut buffer = vec![0; PIECE_LEN];
    for fact in &head.files {
        let file = {
            let _life = folder.hold();
            create(&work, &fact.name).map_err(|error| unwritable(&fact.name, &error))?
        };
        receive_file(input, file, fact, &mut buffer)?;
    }
    match input.read(buffer.get_mut(..1).unwrap_or_default()).map_err(|error| unreadable(&error))? {
        0 => Ok(head.arguments),
        _ => Err(Failure::Bundle("bytes are left after the bundle".into())),
    }
}

fn read_head(input: &mut impl Read) -> Result<Head, Failure> {
    let malformed = |error: thinbridge_protocol::bundle::Malformed| Failure::Bundle(error.to_string());
    let mut prelude = [0; PRELUDE_LEN];
    input.read_exact(&mut prelude).map_err(|error| unreadable(&error))?;
    let length = head_length(&prelude).map_err(malformed)?;
    let mut body = vec![0; length];
    input.read_exact(&mut body).map_err(|error| unreadable(&error))?;
    Head::parse(&body).map_err(malformed)
}

fn create(work: &Path, name: &[u8]) -> io::Result<File> {
    let path = work.join(std::ffi::OsStr::from_bytes(name));
    if let Some(parent) = path.parent().filter(|parent| *parent != work) {
        fs::create_dir_all(parent)?;
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn receive_file(input: &mut impl Read, mut file: File, fact: &FileFact, buffer: &mut [u8]) -> Result<(), Failure> {
    let mut hasher = blake3::Hasher::new();
    let mut left = fact.size;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let piece = buffer.get_mut(..most).unwrap_or_default();
        let length = match input.read(piece) {
            Ok(0) => return Err(unreadable(&io::ErrorKind::UnexpectedEof.into())),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(&error)),
        };
        let piece = piece.get(..length).unwrap_or_default();
        hasher.update(piece);
        file.write_all(piece).map_err(|error| unwritable(&fact.name, &error))?;
        left = left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
    }
    if *hasher.finalize().as_bytes() == fact.digest {
        return Ok(());
    }
    Err(Failure::Bundle(format!("{} arrived damaged", fact.name.escape_ascii())))
}

fn unreadable(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Failure::Bundle("the bundle ends too early".into()),
        _ => Failure::Bundle(format!("the bundle cannot be read: {error}")),
    }
}

/// On a full disk these are the words by which a compile server tells that the machine is at fault, not the job.
fn unwritable(name: &[u8], error: &io::Error) -> Failure {
    Failure::Environment(format!("cannot lay out {}: {error}", name.escape_ascii()))
}
