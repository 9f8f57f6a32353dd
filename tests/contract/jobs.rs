//! A link's jobs without the link: what the linker handed over, kept, so that a test can change it and call thinbridge
//! as the linker does.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Link, Program, THINBRIDGE, isolate};

/// Longest wait for an event. Far above what a loaded machine needs: it only keeps a broken test from hanging.
const PATIENCE: Duration = Duration::from_secs(90);

/// The name of the job description.
pub(crate) const DESCRIPTION: &str = "jobs.json";

/// The jobs of a program's link.
pub(crate) struct Jobs {
    pub(crate) program: Program,
    /// The job description, as it is written before each run.
    pub(crate) description: Value,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Jobs {
    /// Two modules, of which the first imports from the second.
    pub(crate) fn two() -> Self {
        let program = Program::new(crate::support::Language::C, &["-O2"])
            .module("first.c", "int second(int);\nint main(void) { return second(20) - 41; }\n")
            .module("second.c", "int second(int x) { return 2 * x + 1; }\n");
        Self::of(program)
    }

    /// Links the program once and keeps what the linker handed over. The objects are removed.
    pub(crate) fn of(program: Program) -> Self {
        Link::of(&program).without_report().argument("-Wl,--save-temps").output("kept").run().expect_success();
        let folder = &program.folder;
        let files = folder.files();
        let kept = files.iter().find(|name| name.ends_with(".dist-file.json")).expect("the linker keeps it");
        let text = std::fs::read(folder.join(kept)).expect("readable");
        let jobs = Self { description: serde_json::from_slice(&text).expect("JSON"), program };
        jobs.remove_outputs();
        jobs
    }

    /// The names of the objects.
    pub(crate) fn outputs(&self) -> Vec<PathBuf> {
        let jobs = self.description["jobs"].as_array().expect("jobs");
        let outputs = jobs.iter().map(|job| job["outputs"][0].as_str().expect("a name"));
        outputs.map(|name| self.program.folder.join(name)).collect()
    }

    pub(crate) fn remove_outputs(&self) {
        for output in self.outputs() {
            let _ = std::fs::remove_file(output);
        }
    }

    /// The objects, all of which have to be there.
    #[track_caller]
    pub(crate) fn objects(&self) -> Vec<Vec<u8>> {
        let read = |path: PathBuf| std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.outputs().into_iter().map(read).collect()
    }

    /// Panics if there is an object, whole or not.
    #[track_caller]
    pub(crate) fn expect_no_objects(&self) {
        for output in self.outputs() {
            assert!(!output.exists(), "{} was left", output.display());
        }
    }

    /// Another compiler for all jobs.
    pub(crate) fn compiler(mut self, program: &std::path::Path) -> Self {
        self.description["common"]["args"][0] = program.to_str().expect("UTF-8").into();
        self
    }

    /// One more argument of all jobs.
    pub(crate) fn argument(mut self, argument: &str) -> Self {
        self.description["common"]["args"].as_array_mut().expect("arguments").push(argument.into());
        self
    }

    /// Another name for one job's object.
    pub(crate) fn output(mut self, job: usize, output: &str) -> Self {
        let job = &mut self.description["jobs"][job];
        let arguments = job["args"].as_array_mut().expect("arguments");
        let at = arguments.iter().position(|argument| argument == "-o").expect("an output") + 1;
        arguments[at] = output.into();
        job["outputs"][0] = output.into();
        self
    }

    /// The command, with nothing of the user's own settings.
    pub(crate) fn command(&self, options: &[&str]) -> Command {
        self.write();
        let mut command = Command::new(THINBRIDGE);
        self.settle(&mut command);
        command.args(options).arg(DESCRIPTION);
        command
    }

    /// The same command at the end of a shell script's, `"$@"` there.
    pub(crate) fn scripted(&self, launcher: &[&str], script: &str, options: &[&str]) -> Command {
        self.write();
        let (program, first) = launcher.split_first().expect("a launcher");
        let mut command = Command::new(program);
        self.settle(&mut command);
        command.args(first).args(["sh", "-c", script, "sh", THINBRIDGE]).args(options).arg(DESCRIPTION);
        command
    }

    fn write(&self) {
        self.program.folder.write(DESCRIPTION, self.description.to_string());
    }

    fn settle(&self, command: &mut Command) {
        isolate(command, &self.program.folder);
        command.current_dir(self.program.folder.path()).stdin(Stdio::null());
    }

    pub(crate) fn run(&self, options: &[&str]) -> Ended {
        run(&mut self.command(options))
    }

    /// Runs and reads the report.
    #[track_caller]
    pub(crate) fn report(&self, options: &[&str]) -> Value {
        self.report_of(&mut self.command(&[options, &["--report=report.json"]].concat()))
    }

    /// Runs a command that writes `report.json`, and reads that.
    #[track_caller]
    pub(crate) fn report_of(&self, command: &mut Command) -> Value {
        let path = self.program.folder.join("report.json");
        let _ = std::fs::remove_file(&path);
        let ended = run(command);
        let text = std::fs::read(path).unwrap_or_else(|error| panic!("no report: {error}\n{}", ended.stderr));
        serde_json::from_slice(&text).expect("JSON")
    }

    /// The files in the program's folder, the home's left out: the locks of local slots stay there.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = self.program.folder.files();
        files.retain(|name| !name.starts_with("home/"));
        files
    }
}

impl Ended {
    /// Panics unless it ended with this status, and, where that is a failure, with exactly one line of ours about it.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        let errors = self.stderr.lines().filter(|line| line.starts_with("thinbridge: error: ")).count();
        assert_eq!(errors, usize::from([1, 2, 3].contains(&code)), "{}", self.stderr);
        self
    }

    /// Panics unless the messages hold all of these.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in:\n{}", self.stderr);
        }
        self
    }

    /// Panics unless nothing at all was said.
    #[track_caller]
    pub(crate) fn silent(self) -> Self {
        assert_eq!((self.stdout.as_str(), self.stderr.as_str()), ("", ""));
        self
    }
}

/// Runs the command to its end.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Ended {
    finish(start(command))
}

#[track_caller]
pub(crate) fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Waits for its end.
#[track_caller]
pub(crate) fn finish(child: Child) -> Ended {
    let Output { status, stdout, stderr } =
        patiently("the end of thinbridge", move || child.wait_with_output().expect("its end is awaited"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: status.code(), stdout: text(&stdout), stderr: text(&stderr) }
}

/// Waits for something that blocks, but not for ever.
#[track_caller]
pub(crate) fn patiently<T: Send + 'static>(what: &str, wait: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(wait()));
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what} did not come within {PATIENCE:?}"))
}

/// What starts a command in a mount namespace of its own, if that is allowed here.
pub(crate) fn namespace() -> Option<&'static [&'static str]> {
    const AS_ROOT: &[&str] = &["unshare", "--mount", "--propagation", "private", "--"];
    const AS_USER: &[&str] =
        &["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--propagation", "private", "--"];
    [AS_ROOT, AS_USER].into_iter().find(|launcher| {
        let mut command = Command::new(launcher[0]);
        command.args(&launcher[1..]).args(["mount", "-t", "tmpfs", "tmpfs", "/tmp"]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
