//! The link's input files: each mapped once, each distinct content compressed once, lent to every request.

use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use thinbridge_protocol::distcc::Compressed;
use thinbridge_protocol::icecream::{Algorithm, pack_file};

use super::map;

/// BLAKE3 of a content.
pub type Digest = [u8; 32];

/// One input file.
#[derive(Debug)]
pub struct Input {
    /// Its bytes.
    pub bytes: Bytes,
    digest: OnceLock<Digest>,
}

impl Input {
    /// A content that is in no file.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes, digest: OnceLock::new() }
    }

    /// What stands for the content. Computed at the first call.
    pub fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| *blake3::hash(&self.bytes).as_bytes())
    }
}

/// All files that the jobs of a link read.
#[derive(Debug, Default)]
pub struct Inputs {
    by_path: HashMap<String, Arc<Input>>,
    /// By device and inode: two spellings of one file are mapped once.
    by_file: HashMap<(u64, u64), Arc<Input>>,
    packed: OnceMap<Digest, Compressed>,
    frames: OnceMap<(Digest, Algorithm), Arc<[Bytes]>>,
}

impl Inputs {
    /// Maps the file, or finds that it is mapped.
    ///
    /// # Errors
    /// It is missing, unreadable or empty.
    pub fn open(&mut self, path: &str) -> io::Result<Arc<Input>> {
        if let Some(input) = self.by_path.get(path) {
            return Ok(Arc::clone(input));
        }
        let facts = std::fs::metadata(path)?;
        let file = (facts.dev(), facts.ino());
        let input = match self.by_file.get(&file) {
            Some(input) => Arc::clone(input),
            None => Arc::new(Input::new(map::map(Path::new(path))?)),
        };
        if input.bytes.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is empty"));
        }
        self.by_file.insert(file, Arc::clone(&input));
        self.by_path.insert(path.to_owned(), Arc::clone(&input));
        Ok(input)
    }

    /// The content as it travels to distcc hosts. Compresses at the first call for each distinct content; a caller that
    /// comes meanwhile waits for it.
    pub fn pack(&self, input: &Input) -> Compressed {
        self.packed.get(input.digest(), || Compressed::new(&input.bytes))
    }

    /// The content as it travels to icecream hosts, in frames; otherwise like [`Inputs::pack`].
    pub fn frames(&self, input: &Input, algorithm: Algorithm) -> Arc<[Bytes]> {
        self.frames.get((input.digest(), algorithm), || pack_file(&input.bytes, algorithm).into())
    }
}

/// Values by key, each made once, by the first that needs it.
#[derive(Debug)]
struct OnceMap<K, V> {
    /// A value's place is empty until it has been made.
    places: Mutex<HashMap<K, Arc<OnceLock<V>>>>,
}

impl<K, V> Default for OnceMap<K, V> {
    fn default() -> Self {
        Self { places: Mutex::default() }
    }
}

impl<K: Eq + Hash, V: Clone> OnceMap<K, V> {
    fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        // Other values can be made meanwhile: the lock is only held to find this one's place.
        let place = Arc::clone(self.places.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        place.get_or_init(make).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_under_two_names_is_one_input() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.o");
        std::fs::write(&path, b"bitcode").unwrap();
        std::fs::hard_link(&path, folder.path().join("b.o")).unwrap();
        let mut inputs = Inputs::default();
        let a = inputs.open(path.to_str().unwrap()).unwrap();
        let b = inputs.open(folder.path().join("./b.o").to_str().unwrap()).unwrap();
        assert!(Arc::ptr_eq(&a, &b));
    }

    #[test]
    fn equal_contents_are_packed_once() {
        let inputs = Inputs::default();
        let content = Bytes::from(vec![7; 10_000]);
        let (a, b) = (Input::new(content.clone()), Input::new(Bytes::from(content.to_vec())));
        let (a, b) = (inputs.pack(&a), inputs.pack(&b));
        assert_eq!(a.as_wire().as_ptr(), b.as_wire().as_ptr());
    }

    #[test]
    fn equal_contents_are_packed_once_even_at_the_same_time() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        const THREADS: usize = 8;
        let (map, made) = (OnceMap::default(), AtomicUsize::new(0));
        let start = std::sync::Barrier::new(THREADS);
        let pack = || {
            start.wait();
            map.get((), || {
                made.fetch_add(1, Ordering::Relaxed);
                // Gives the others the time to come, as a large content does.
                (0..1000).for_each(|_| std::thread::yield_now());
            });
        };
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(pack);
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn missing_empty_and_strange_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty.o");
        std::fs::write(&empty, b"").unwrap();
        let mut inputs = Inputs::default();
        assert_eq!(inputs.open(empty.to_str().unwrap()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(inputs.open(folder.path().to_str().unwrap()).is_err());
        assert!(inputs.open(folder.path().join("none.o").to_str().unwrap()).is_err());
    }
}
