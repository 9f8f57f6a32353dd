//! Builds a program, captures its backend jobs, and compiles them under their true and under short names.

use std::borrow::BorrowMut;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use object::{Object, ObjectSymbol};
use tempfile::TempDir;
use thinbridge::bitcode::{Definitions, Mapping, Resolved, Shard, module, resolve};

pub(crate) const CLANG: &str = "clang-22";
pub(crate) const LLD: &str = "ld.lld-22";
pub(crate) const LLD_LINK: &str = "lld-link-22";

/// Whether the tools are there. When one is not, the test is skipped with a line that says so; in CI it fails.
pub(crate) fn have(tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
    let Some(tool) = missing else { return true };
    assert!(std::env::var_os("CI").is_none(), "{tool} is not installed");
    println!("skipped: {tool} is not installed");
    false
}

/// A program to be linked.
#[derive(Default)]
pub(crate) struct Program<'a> {
    /// Source files and what is in them. `x/y.c` becomes the module `x/y.o`.
    pub(crate) sources: &'a [(&'a str, &'a str)],
    /// Flags of the compiles.
    pub(crate) flags: &'a [&'a str],
    /// Operands of the link; `{}` stands for the absolute path of its folder. None: all the objects.
    pub(crate) operands: &'a [&'a str],
    /// Archives to make before the link: `ar` operations, name, members.
    pub(crate) archives: &'a [(&'a str, &'a str, &'a [&'a str])],
    /// Flags of the link.
    pub(crate) link_flags: &'a [&'a str],
    /// Link for Windows. Its in-process objects are not kept.
    pub(crate) coff: bool,
}

/// One link's backend jobs.
pub(crate) struct Link {
    pub(crate) folder: TempDir,
    pub(crate) jobs: Vec<Job>,
    /// What in-process ThinLTO makes of the modules.
    pub(crate) in_process: BTreeSet<Vec<u8>>,
    pub(crate) mapping: Mapping,
    flags: Vec<String>,
}

/// One backend job, as the linker describes it.
pub(crate) struct Job {
    pub(crate) own: String,
    pub(crate) inputs: Vec<String>,
    pub(crate) shard: Shard,
    pub(crate) resolved: Resolved,
    pub(crate) definitions: Definitions,
}

impl Program<'_> {
    pub(crate) fn link(&self) -> Link {
        let folder = tempfile::Builder::new().prefix("bitcode").tempdir().unwrap();
        let at = folder.path().join("src");
        fs::create_dir(&at).unwrap();
        for (name, text) in self.sources {
            fs::create_dir_all(at.join(name).parent().unwrap()).unwrap();
            fs::write(at.join(name), text).unwrap();
            compile(&at, name, self.flags);
        }
        for (operation, archive, members) in self.archives {
            run(Command::new("llvm-ar-22").current_dir(&at).arg(operation).arg(archive).args(*members));
        }
        let all = || self.sources.iter().map(|(name, _)| object_name(name)).collect();
        let given: Vec<String> = self.operands.iter().map(|one| one.replace("{}", at.to_str().unwrap())).collect();
        let operands: Vec<String> = if given.is_empty() { all() } else { given };
        self.finish(folder, &at, &operands)
    }

    /// Links objects that were given other names, in the order of the sources.
    pub(crate) fn link_renamed(&self, names: &[&str]) -> Link {
        let folder = tempfile::Builder::new().prefix("bitcode").tempdir().unwrap();
        let at = folder.path().join("src");
        fs::create_dir(&at).unwrap();
        for ((source, text), name) in self.sources.iter().zip(names) {
            fs::write(at.join(source), text).unwrap();
            compile(&at, source, self.flags);
            fs::rename(at.join(object_name(source)), at.join(name)).unwrap();
        }
        let operands: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        self.finish(folder, &at, &operands)
    }

    fn finish(&self, folder: TempDir, at: &Path, operands: &[String]) -> Link {
        let kept = folder.path().join("kept");
        let distributor = folder.path().join("keep");
        // The linker removes what it wrote, so the whole folder is kept.
        let script = format!("#!/bin/sh\ncp -a . '{0}' && cp \"$1\" '{0}/jobs.json'\nexit 1\n", kept.display());
        fs::write(&distributor, script).unwrap();
        run(Command::new("chmod").arg("+x").arg(&distributor));

        let mut in_process = BTreeSet::new();
        let (mut linker, option, is) =
            if self.coff { (coff_linker(at), "/", ":") } else { (elf_linker(at), "--", "=") };
        if !self.coff {
            run(elf_linker(at).args(self.link_flags).args(operands).arg("--lto-obj-path=../native.o"));
            let paths = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
            let native = paths.filter(|path| path.to_str().unwrap().contains("native.o"));
            in_process.extend(native.map(|path| fs::read(path).unwrap()));
        }
        linker.args(self.link_flags).args(operands);
        linker.arg(format!("{option}thinlto-remote-compiler{is}clang"));
        linker.arg(format!("{option}thinlto-distributor{is}{}", distributor.display())).output().unwrap();
        Link::read(folder, &kept, in_process)
    }
}

fn elf_linker(at: &Path) -> Command {
    let mut linker = Command::new(LLD);
    linker.current_dir(at).args(["-pie", "--entry=main", "--unresolved-symbols=ignore-all", "-o", "prog"]);
    linker
}

fn coff_linker(at: &Path) -> Command {
    let mut linker = Command::new(LLD_LINK);
    linker.current_dir(at).args(["/entry:entry", "/subsystem:console", "/force:unresolved", "/nodefaultlib"]);
    linker.arg("/out:prog.exe");
    linker
}

fn compile(at: &Path, source: &str, flags: &[&str]) {
    let output = object_name(source);
    let mut command = Command::new(CLANG);
    if source.ends_with(".rs") {
        command = Command::new("rustc");
        command.args(["--crate-type=rlib", "--emit=obj", "-Clinker-plugin-lto", "-Copt-level=2", "-Cpanic=abort"]);
        command.arg("-Ccodegen-units=1");
    } else if source.ends_with(".ll") {
        command = Command::new("opt-22");
        command.args(["--thinlto-bc", "--module-hash", "--module-summary"]);
    } else {
        command.args(["-O2", "-flto=thin", "-c"]).args(flags);
    }
    run(command.current_dir(at).arg(source).arg("-o").arg(output));
}

fn object_name(source: &str) -> String {
    format!("{}.o", source.rsplit_once('.').unwrap().0)
}

pub(crate) fn run(mut command: impl BorrowMut<Command>) -> Output {
    let command = command.borrow_mut();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

impl Link {
    fn read(folder: TempDir, kept: &Path, in_process: BTreeSet<Vec<u8>>) -> Self {
        let json = fs::read(kept.join("jobs.json")).expect("the linker ran the distributor");
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let texts = |value: &serde_json::Value| value.as_array().unwrap().iter().map(text).collect::<Vec<_>>();
        let jobs: Vec<Job> =
            json["jobs"].as_array().unwrap().iter().map(|job| Job::read(kept, texts(&job["inputs"]))).collect();
        let mapping = Mapping::new(jobs.iter().flat_map(|job| &job.inputs));
        Self { folder, jobs, in_process, mapping, flags: texts(&json["common"]["args"])[1..].to_vec() }
    }

    /// The folder that has everything the linker wrote.
    pub(crate) fn kept(&self) -> PathBuf {
        self.folder.path().join("kept")
    }

    /// Compiles a job from the linker's own files, with the shard mended.
    pub(crate) fn compile_here(&self, job: &Job) -> Vec<u8> {
        fs::write(self.kept().join("s.bc"), job.resolved.repair(&job.shard).unwrap()).unwrap();
        self.compile(&self.kept(), &job.own, &[])
    }

    /// Compiles a job in a folder that holds its modules under short names.
    pub(crate) fn compile_there(&self, job: &Job) -> Vec<u8> {
        let there = TempDir::new_in(self.folder.path()).unwrap();
        for module in job.resolved.modules() {
            let true_path = str::from_utf8(&module.path).unwrap();
            fs::copy(self.kept().join(true_path), there.path().join(self.mapping.name(&module.path).unwrap())).unwrap();
        }
        fs::write(there.path().join("s.bc"), job.resolved.rename(&job.shard, &self.mapping).unwrap()).unwrap();
        self.compile(there.path(), &self.mapping.name(job.own.as_bytes()).unwrap(), &["--language=ir"])
    }

    /// Compiles a module whose name is not the one in its shard. Mostly clang says nothing and succeeds.
    pub(crate) fn compile_misnamed(&self, job: &Job) -> Option<Vec<u8>> {
        fs::copy(self.kept().join(&job.own), self.kept().join("misnamed.c")).unwrap();
        fs::write(self.kept().join("s.bc"), job.resolved.repair(&job.shard).unwrap()).unwrap();
        let output = self.compiler(&self.kept(), "misnamed.c", &["--language=ir"]).output().unwrap();
        output.status.success().then(|| fs::read(self.kept().join("o.o")).unwrap())
    }

    fn compile(&self, at: &Path, module: &str, language: &[&str]) -> Vec<u8> {
        run(self.compiler(at, module, language));
        let mut object = fs::read(at.join("o.o")).unwrap();
        // An object for Windows says in its second word when it was made.
        if !object.starts_with(b"\x7fELF") {
            object[4..8].fill(0);
        }
        object
    }

    fn compiler(&self, at: &Path, module: &str, language: &[&str]) -> Command {
        let mut command = Command::new(CLANG);
        command.current_dir(at).args(&self.flags).arg("-fno-crash-diagnostics").args(language);
        command.arg(module).args(["-fthinlto-index=s.bc", "-o", "o.o"]);
        command
    }
}

impl Job {
    fn read(kept: &Path, inputs: Vec<String>) -> Self {
        let [own, shard_name, ..] = inputs.as_slice() else { panic!("a job without inputs") };
        let shard = Shard::parse(&fs::read(kept.join(shard_name)).unwrap()).unwrap();
        let modules: HashMap<&[u8], Vec<u8>> =
            inputs.iter().map(|path| (path.as_bytes(), fs::read(kept.join(path)).unwrap())).collect();
        let paths: Vec<&[u8]> = inputs.iter().map(String::as_bytes).collect();
        let resolved = resolve(&shard, &paths, own.as_bytes(), |path| module::hash(&modules[path])).unwrap();
        for module in resolved.modules() {
            assert_eq!(
                module::hash(&modules[module.path.as_slice()]),
                module.hash,
                "the table has the modules' hashes"
            );
        }
        let facts = module::facts(&modules[own.as_bytes()]).unwrap();
        let definitions = Definitions::new(&shard, resolved.own(), Some(&facts.source_file));
        Self { own: own.clone(), shard, resolved, definitions, inputs }
    }
}

/// The names of the symbols that an object defines.
pub(crate) fn symbols(object: &[u8]) -> Vec<Vec<u8>> {
    let file = object::File::parse(object).unwrap();
    let defined = file.symbols().filter(|symbol| !symbol.is_undefined() && symbol.is_global());
    defined.map(|symbol| symbol.name_bytes().unwrap().to_vec()).filter(|name| !name.is_empty()).collect()
}

/// What the object of a job should define and does not.
pub(crate) fn missing(definitions: &Definitions, object: &[u8]) -> Vec<u64> {
    let symbols = symbols(object);
    definitions.missing(symbols.iter().map(Vec::as_slice))
}

const NONE: &[u64] = &[];

/// That jobs compiled one by one are what in-process ThinLTO compiles. For programs without references that only the linker
/// knows to be local: there the two differ by an instruction, whoever compiles the job.
pub(crate) fn check_as_in_process(link: &Link) {
    for job in &link.jobs {
        assert!(link.in_process.contains(&link.compile_here(job)), "{}: as in-process", job.own);
    }
    check(link);
}

/// Everything that holds for every link: the right objects are right, by any name, and the wrong ones are known.
pub(crate) fn check(link: &Link) {
    let objects: Vec<Vec<u8>> = link.jobs.iter().map(|job| link.compile_here(job)).collect();
    for (job, object) in link.jobs.iter().zip(&objects) {
        assert!(&link.compile_there(job) == object, "{}: compiled there as here", job.own);
        assert_eq!(missing(&job.definitions, object), NONE, "{}: a good object, {:?}", job.own, shown(object));
        if job.definitions.is_empty() {
            continue;
        }
        assert_ne!(job.definitions.missing([]), NONE, "{}: no symbols", job.own);
        if let Some(misnamed) = link.compile_misnamed(job) {
            assert_ne!(missing(&job.definitions, &misnamed), NONE, "{}: misnamed", job.own);
        }
        for other in objects.iter().filter(|other| *other != object) {
            assert_ne!(missing(&job.definitions, other), NONE, "{}: another job's object", job.own);
        }
    }
}

fn shown(object: &[u8]) -> Vec<String> {
    symbols(object).iter().map(|name| name.escape_ascii().to_string()).collect()
}
