//! What goes into an environment, and where.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use thinbridge_protocol::manifest::Manifest;

use super::compiler::{Compiler, Version};
use super::standin::Choice;
use super::{ENTRY, EnvironmentError};

/// Where the entry program is: what a compile server starts for a compiler that is called `clang`.
const ENTRY_PATH: &str = "/usr/bin/clang";

/// The other names of the entry program: without the first a compile server takes an environment for damaged, the second
/// it runs as self-test. The links are relative, as the environment is somewhere else until it is the root.
const ENTRY_LINKS: [(&str, &str); 2] = [("/usr/bin/as", "clang"), ("/bin/true", "../usr/bin/clang")];

/// Where a compiler goes that would be in the place of the entry program.
const OTHER_FOLDER: &str = "/usr/lib/thinbridge";

/// What is at a path of an environment.
pub(super) enum Item {
    /// The file of this machine, under the same or another name.
    File(PathBuf),
    /// A file of ours.
    Bytes(Vec<u8>),
    /// A symbolic link.
    Link(String),
}

/// Everything in an environment but its manifest.
pub(super) struct Contents {
    /// By absolute path.
    pub(super) items: BTreeMap<String, Item>,
    /// The manifest, which does not name the files yet.
    pub(super) manifest: Manifest,
}

impl Contents {
    pub(super) fn new(compiler: &Compiler, version: &Version, choice: &Choice) -> Result<Self, EnvironmentError> {
        let mut contents = Self { items: BTreeMap::new(), manifest: Manifest::default() };
        contents.add_entry();
        contents.add_compiler(compiler)?;
        contents.add_interpreter(compiler)?;
        contents.add_libraries(choice)?;
        contents.add_configuration(version)?;
        Ok(contents)
    }

    fn add(&mut self, path: &Path, item: Item) -> Result<(), EnvironmentError> {
        self.items.insert(text(path)?, item);
        Ok(())
    }

    fn add_entry(&mut self) {
        self.items.insert(ENTRY_PATH.to_owned(), Item::Bytes(ENTRY.to_vec()));
        for (path, target) in ENTRY_LINKS {
            self.items.insert(path.to_owned(), Item::Link(target.to_owned()));
        }
    }

    fn add_compiler(&mut self, compiler: &Compiler) -> Result<(), EnvironmentError> {
        let own = text(Path::new(compiler.program.file_name().unwrap_or_default()))?;
        let folder = compiler.program.parent().unwrap_or(Path::new("/"));
        let is_taken = |name: &str| folder.join(name).to_str().is_some_and(|path| self.items.contains_key(path));
        let folder = if is_taken(&own) || is_taken(&compiler.name) { Path::new(OTHER_FOLDER) } else { folder };
        self.manifest.compiler = text(&folder.join(&compiler.name))?;
        self.manifest.arguments.clone_from(&compiler.arguments);
        self.add(&folder.join(&own), Item::File(compiler.program.clone()))?;
        if own != compiler.name {
            self.add(&folder.join(&compiler.name), Item::Link(own))?;
        }
        Ok(())
    }

    /// The program names what starts it, and it has to be there under this very name.
    fn add_interpreter(&mut self, compiler: &Compiler) -> Result<(), EnvironmentError> {
        let Some(interpreter) = &compiler.interpreter else { return Ok(()) };
        if !interpreter.is_absolute() || interpreter.components().any(|it| it == Component::ParentDir) {
            let what = format!("is started by {}, which is something else on hosts", interpreter.display());
            let mend = "name a compiler whose program interpreter is an absolute path";
            return Err(EnvironmentError::Unfit { path: compiler.program.clone(), what, mend });
        }
        self.add(interpreter, Item::File(interpreter.clone()))
    }

    fn add_libraries(&mut self, choice: &Choice) -> Result<(), EnvironmentError> {
        for (library, stand_in) in choice.libraries() {
            let path = library.place();
            let folder = text(path.parent().unwrap_or(Path::new("/")))?;
            if folder.contains([':', ';']) {
                let what = "is in a folder with ':' or ';' in its name, which no list of folders can name".into();
                return Err(EnvironmentError::Unfit { path, what, mend: "install the compiler in another folder" });
            }
            if !self.manifest.folders.contains(&folder) {
                self.manifest.folders.push(folder);
            }
            self.add(
                &path,
                match stand_in {
                    Some(bytes) => Item::Bytes(bytes.to_vec()),
                    None => Item::File(library.path.clone()),
                },
            )?;
        }
        Ok(())
    }

    /// The compiler would look for its configuration in its user's home, among other places.
    fn add_configuration(&mut self, version: &Version) -> Result<(), EnvironmentError> {
        for file in &version.configuration {
            self.manifest.arguments.push(format!("--config={}", text(file)?));
            self.add(file, Item::File(file.clone()))?;
        }
        if !version.configuration.is_empty() {
            self.manifest.arguments.push("--no-default-config".into());
        }
        Ok(())
    }
}

/// A path as the manifest writes it.
fn text(path: &Path) -> Result<String, EnvironmentError> {
    let text = path.to_str().filter(|text| !text.contains(['\n', '\0']));
    text.map(str::to_owned).ok_or_else(|| EnvironmentError::Unfit {
        path: path.to_owned(),
        what: "has a name that is not UTF-8 or contains a line break".into(),
        mend: "install the compiler in another folder",
    })
}
