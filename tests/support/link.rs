//! A link as a user types it: `clang-22 -flto=thin -fuse-ld=lld -fthinlto-distributor=…`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

use super::{Program, THINBRIDGE, Workdir};

/// A link in preparation. Nothing of the user's own settings reaches it.
pub(crate) struct Link<'p> {
    program: &'p Program,
    folder: PathBuf,
    output: String,
    distributor: Option<PathBuf>,
    options: Vec<String>,
    report: Option<PathBuf>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

/// How a link went.
pub(crate) struct Linked {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The folder that the link ran in.
    pub(crate) folder: PathBuf,
    /// Where the program is, if the link succeeded.
    pub(crate) path: PathBuf,
    /// The linked program; nothing after a failed link.
    pub(crate) bytes: Option<Vec<u8>>,
    /// The distributor's report, if it wrote one.
    pub(crate) report: Option<serde_json::Value>,
}

impl<'p> Link<'p> {
    /// A link through thinbridge, without hosts.
    pub(crate) fn of(program: &'p Program) -> Self {
        Self {
            program,
            folder: program.folder.path().to_owned(),
            output: "program".to_owned(),
            distributor: Some(PathBuf::from(THINBRIDGE)),
            options: Vec::new(),
            report: Some(program.folder.join("report.json")),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// The plain link, without any distributor: what every other one has to equal.
    pub(crate) fn in_process(program: &'p Program) -> Self {
        Self { distributor: None, report: None, ..Self::of(program) }.output("in-process")
    }

    /// A link through another distributor.
    pub(crate) fn distributor(mut self, path: impl Into<PathBuf>) -> Self {
        self.distributor = Some(path.into());
        self.report = None;
        self
    }

    /// One more host, or several with spaces between them.
    pub(crate) fn hosts(self, list: impl AsRef<str>) -> Self {
        self.option(format!("--hosts={}", list.as_ref()))
    }

    /// One more option of thinbridge. It takes clang's way, which splits at commas.
    pub(crate) fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(format!("-Xthinlto-distributor={}", option.into()));
        self
    }

    /// Every job has to run on a host.
    pub(crate) fn remote_only(self) -> Self {
        self.option("--local-slots=0").option("--fallback=off")
    }

    /// No report is asked for.
    pub(crate) fn without_report(mut self) -> Self {
        self.report = None;
        self
    }

    /// One more argument of clang's.
    pub(crate) fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// One more variable of the environment.
    pub(crate) fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The program's name, below the folder that the link runs in.
    pub(crate) fn output(mut self, name: &str) -> Self {
        name.clone_into(&mut self.output);
        self
    }

    /// The folder, below the program's, that the link runs in.
    pub(crate) fn run_in(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = self.program.folder.join(folder);
        self
    }

    /// The command, for tests that have to start it themselves.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.program.language.compiler());
        self.isolate(&mut command);
        command.current_dir(&self.folder).args(["-flto=thin", "-fuse-ld=lld"]).args(&self.program.flags);
        if let Some(distributor) = &self.distributor {
            let mut option = OsString::from("-fthinlto-distributor=");
            option.push(distributor);
            command.arg(option).args(&self.options);
        }
        if let Some(report) = &self.report {
            command.arg(format!("-Xthinlto-distributor=--report={}", report.display()));
        }
        command.args(&self.arguments);
        command.args(["-o", &self.output]).args(&self.program.inputs);
        command
    }

    /// Takes away what the user's environment says, and then sets what the test wants.
    fn isolate(&self, command: &mut Command) {
        isolate(command, &self.program.folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
    }

    /// Links.
    pub(crate) fn run(self) -> Linked {
        let output = self.command().output().expect("clang-22 starts");
        self.ended(output)
    }

    /// What became of the link, for tests that started it themselves.
    pub(crate) fn ended(self, output: Output) -> Linked {
        let Output { status, stdout, stderr } = output;
        let path = self.folder.join(&self.output);
        let report = self.report.as_ref().and_then(|report| std::fs::read(report).ok());
        Linked {
            status,
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            bytes: if status.success() { std::fs::read(&path).ok() } else { None },
            path,
            folder: self.folder,
            report: report.map(|report| serde_json::from_slice(&report).expect("the report is JSON")),
        }
    }
}

impl Linked {
    /// Panics with the link's words if it failed.
    #[track_caller]
    pub(crate) fn expect_success(self) -> Self {
        assert!(self.status.success(), "the link failed ({}):\n{}", self.status, self.stderr);
        self
    }

    /// Panics if the link succeeded, or wrote a program.
    #[track_caller]
    pub(crate) fn expect_failure(self) -> Self {
        assert!(!self.status.success(), "the link succeeded:\n{}", self.stderr);
        assert!(!self.path.exists(), "a failed link left {}", self.path.display());
        self
    }

    /// Panics if the two programs are not byte for byte the same.
    #[track_caller]
    pub(crate) fn expect_same_bytes(&self, other: &Self) {
        let (ours, theirs) = (self.bytes.as_ref().expect("linked"), other.bytes.as_ref().expect("linked"));
        if ours != theirs {
            let differs = ours.iter().zip(theirs).position(|(a, b)| a != b);
            panic!("the programs differ: {} and {} bytes, first at {differs:?}", ours.len(), theirs.len());
        }
    }

    /// The report; panics with the link's words if there is none.
    #[track_caller]
    pub(crate) fn report(&self) -> &serde_json::Value {
        self.report.as_ref().unwrap_or_else(|| panic!("no report was written:\n{}", self.stderr))
    }

    /// One of the report's totals: jobs, remote, local, fallbacks, …
    #[track_caller]
    pub(crate) fn total(&self, name: &str) -> u64 {
        let totals = &self.report()["totals"];
        totals[name].as_u64().unwrap_or_else(|| panic!("the totals say nothing of {name}: {totals}"))
    }

    /// What the linked program prints.
    pub(crate) fn output(&self) -> String {
        super::run(&mut Command::new(&self.path))
    }
}

/// Takes away what the user's environment says about distcc, icecream and thinbridge, and the user's own files: the
/// command finds a home of its own below this folder.
pub(crate) fn isolate(command: &mut Command, folder: &Workdir) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let prefixes = ["DISTCC", "_DISTCC", "ICECC", "USE_SCHEDULER", "THINBRIDGE", "CCC_OVERRIDE", "XDG_CACHE_HOME"];
        if prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    // An empty host list of the user's own, so that the system's one is never read.
    folder.write("home/.distcc/hosts", "# nobody\n");
    let home = folder.join("home");
    // Locks of local slots go only where nobody else can write.
    std::fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("it is ours");
    command.env("XDG_CONFIG_HOME", home.join("config")).env("XDG_RUNTIME_DIR", &home).env("HOME", home);
}
