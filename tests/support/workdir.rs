//! A folder of the client's, that only its owner may enter: a volunteer without a namespace cannot read it as root's
//! daemon either, which runs as another user.

use std::fs;
use std::path::{Path, PathBuf};

/// A new folder, removed when dropped.
pub(crate) struct Workdir {
    folder: tempfile::TempDir,
}

impl Workdir {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("thinbridge-client-").tempdir().expect("a temporary folder");
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a name below this folder.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, with the folders that it needs.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("its folder can be made");
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Writes a program that can be run.
    pub(crate) fn write_executable(&self, name: impl AsRef<Path>, content: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode can be set");
        path
    }

    /// The names of all files below this folder, relative to it, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        fn visit(root: &Path, folder: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(folder).expect("a readable folder") {
                let path = entry.expect("a readable entry").path();
                if path.is_dir() && !path.is_symlink() {
                    visit(root, &path, found);
                } else {
                    found.push(path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned());
                }
            }
        }
        let mut found = Vec::new();
        visit(self.path(), self.path(), &mut found);
        found.sort();
        found
    }
}
