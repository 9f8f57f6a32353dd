//! The link's input files: each mapped once, each distinct content compressed once, lent to every request.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use thinbridge_protocol::distcc::Compressed;

use super::map;

/// One input file.
#[derive(Debug)]
pub struct Input {
    /// Its bytes.
    pub bytes: Bytes,
    packed: OnceLock<Compressed>,
}

impl Input {
    /// A content that is in no file.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes, packed: OnceLock::new() }
    }
}

/// All files that the jobs of a link read.
#[derive(Debug, Default)]
pub struct Inputs {
    by_path: HashMap<String, Arc<Input>>,
    /// By device and inode: two spellings of one file are mapped once.
    by_file: HashMap<(u64, u64), Arc<Input>>,
    /// Compressed contents by digest.
    packed: Mutex<HashMap<[u8; 32], Compressed>>,
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

    /// The content as it travels. Compresses at the first call for each distinct content; a caller that comes
    /// meanwhile waits for it.
    pub fn pack(&self, input: &Input) -> Compressed {
        input.packed.get_or_init(|| self.pack_content(&input.bytes)).clone()
    }

    fn pack_content(&self, bytes: &Bytes) -> Compressed {
        let digest = *blake3::hash(bytes).as_bytes();
        let known = |packed: &Mutex<HashMap<_, Compressed>>| {
            packed.lock().unwrap_or_else(PoisonError::into_inner).get(&digest).cloned()
        };
        known(&self.packed).unwrap_or_else(|| {
            let packed = Compressed::new(bytes);
            self.packed.lock().unwrap_or_else(PoisonError::into_inner).entry(digest).or_insert(packed).clone()
        })
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
