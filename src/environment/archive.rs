//! Packs an environment. The same contents give the same bytes, whoever packs them, where and when.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use tar::{EntryType, Header};
use thinbridge_protocol::manifest::{self, Manifest, TAIL_LEN};

use super::EnvironmentError;
use super::contents::{Contents, Item};

/// Compression level of zstd. For a clang of 220 MB, 3 takes a third of the time and gives a tenth more, 9 takes twice the
/// time for a fortieth less; it is made once and sent to every host.
const LEVEL: i32 = 6;

/// Threads that compress. The bytes depend on whether there are any, not on how many.
const MAX_THREADS: usize = 8;

/// The folder in which compile servers let the compiler write.
const TEMPORARY: &str = "tmp";

/// What was packed.
pub(super) struct Packed {
    /// Digest of the whole archive before compression.
    pub(super) digest: blake3::Hash,
    /// Length of the archive in bytes.
    pub(super) packed: u64,
    /// Length of all files in bytes.
    pub(super) unpacked: u64,
}

/// Packs the contents, and the manifest after them, into a file.
pub(super) fn write(contents: &Contents, archive: &Path) -> Result<Packed, EnvironmentError> {
    let failed = EnvironmentError::writing(archive);
    let file = File::create(archive).map_err(&failed)?;
    let packer = packer(BufWriter::new(file)).map_err(&failed)?;
    let mut tar = tar::Builder::new(Digested { hasher: blake3::Hasher::new(), inner: packer });
    let mut manifest = contents.manifest.clone();
    let mut folders = BTreeSet::from([String::new()]);
    let path = manifest::PATH.trim_start_matches('/');
    for folder in contents.items.keys().flat_map(|path| parents(path)).chain([TEMPORARY]) {
        if folders.insert(folder.to_owned()) {
            let mode = if folder == TEMPORARY { 0o1777 } else { 0o755 };
            let header = header(EntryType::Directory, 0, mode);
            append(&mut tar, header, &format!("{folder}/"), io::empty()).map_err(&failed)?;
        }
    }
    for (path, item) in &contents.items {
        append_item(&mut tar, path, item, &mut manifest, &failed)?;
    }
    let unpacked: u64 = manifest.files.iter().map(|file| file.size).sum();
    // Only an argument can be unfit: the paths were looked at when they were put in.
    let text = manifest.text().ok_or_else(|| EnvironmentError::Unfit {
        path: manifest.compiler.clone().into(),
        what: "is started with an argument that contains a line break".into(),
        mend: "leave that argument out",
    })?;
    let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
    append(&mut tar, header(EntryType::Regular, size, 0o755), path, text.as_bytes()).map_err(&failed)?;
    let (digest, packed) = finish(tar).map_err(&failed)?;
    Ok(Packed { digest, packed, unpacked: unpacked.saturating_add(size) })
}

fn packer<W: Write>(out: W) -> io::Result<zstd::Encoder<'static, W>> {
    let mut packer = zstd::Encoder::new(out, LEVEL)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    packer.multithread(u32::try_from(threads).unwrap_or(1))?;
    packer.include_checksum(true)?;
    Ok(packer)
}

type Tar = tar::Builder<Digested<zstd::Encoder<'static, BufWriter<File>>>>;

fn finish(tar: Tar) -> io::Result<(blake3::Hash, u64)> {
    let Digested { hasher, inner } = tar.into_inner()?;
    let file = inner.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    // A name that is there after the power failed must not be that of an empty file.
    file.sync_data()?;
    Ok((hasher.finalize(), file.metadata()?.len()))
}

fn append_item(
    tar: &mut Tar,
    path: &str,
    item: &Item,
    manifest: &mut Manifest,
    failed: &impl Fn(io::Error) -> EnvironmentError,
) -> Result<(), EnvironmentError> {
    let name = path.trim_start_matches('/');
    match item {
        Item::Link(target) => {
            let mut header = header(EntryType::Symlink, 0, 0o777);
            tar.append_link(&mut header, name, target).map_err(failed)
        }
        Item::Bytes(bytes) => {
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            append_file(tar, path, size, &mut bytes.as_slice(), manifest).map_err(failed)
        }
        Item::File(source) => {
            let reading = EnvironmentError::reading(source);
            let mut file = crate::files::open(source).map_err(&reading)?;
            let facts = file.metadata().map_err(&reading)?;
            if !facts.is_file() {
                return Err(reading(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
            }
            append_file(tar, path, facts.len(), &mut file, manifest).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => reading(error),
                _ => failed(error),
            })
        }
    }
}

fn append_file(
    tar: &mut Tar,
    path: &str,
    size: u64,
    content: &mut dyn Read,
    manifest: &mut Manifest,
) -> io::Result<()> {
    let mut content = Noted {
        left: size,
        tail_at: size.min(TAIL_LEN),
        whole: blake3::Hasher::new(),
        tail: blake3::Hasher::new(),
        inner: content,
    };
    append(tar, header(EntryType::Regular, size, 0o755), path.trim_start_matches('/'), &mut content)?;
    if content.left > 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read"));
    }
    manifest.files.push(manifest::File {
        path: path.to_owned(),
        size,
        digest: *content.whole.finalize().as_bytes(),
        tail: *content.tail.finalize().as_bytes(),
    });
    Ok(())
}

fn append(tar: &mut Tar, mut header: Header, path: &str, content: impl Read) -> io::Result<()> {
    tar.append_data(&mut header, path, content)
}

/// A header that says nothing of who packs, or when.
fn header(kind: EntryType, size: u64, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// The folders of an absolute path, from the root down.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_start_matches('/');
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// Digests what is written through it.
struct Digested<W> {
    hasher: blake3::Hasher,
    inner: W,
}

impl<W: Write> Write for Digested<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A file of known length, digested as it is read, its end apart too.
struct Noted<'a> {
    left: u64,
    tail_at: u64,
    whole: blake3::Hasher,
    tail: blake3::Hasher,
    inner: &'a mut dyn Read,
}

impl Read for Noted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let length = self.inner.read(buffer.get_mut(..most).unwrap_or_default())?;
        let bytes = buffer.get(..length).unwrap_or_default();
        self.whole.update(bytes);
        let before_tail = self.left.saturating_sub(self.tail_at);
        let skipped = usize::try_from(before_tail).unwrap_or(usize::MAX).min(length);
        self.tail.update(bytes.get(skipped..).unwrap_or_default());
        self.left = self.left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
        Ok(length)
    }
}
