//! Backend jobs as a linker wrote them, kept, so that thinbridge can be run on them again and again without a linker.
//!
//! The local compiler is a stand-in that prints what the real one made of the job, so that a run costs milliseconds and
//! a test can afford hundreds of bad hosts.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{Behaviour, Language, Program, Reply, Request, Scripted, THINBRIDGE, Workdir, clang, run};

/// What the stand-in says for `--version`.
pub(crate) const VERSION: &str = "clang version 22.1.8\nTarget: x86_64-pc-linux-gnu\nThread model: posix\n";

/// Code, data of its own, a reference to another module and a function small enough to be imported.
const SUBJECT: &str = "int other(int); static int calls; int total;\n\
     int subject(int x) { calls++; total += other(x); return x * 3 + calls; }\n\
     int calls_so_far(void) { return calls; }\n";
const OTHER: &str = "int subject(int); int calls_so_far(void); int weight = 7;\n\
     int other(int x) { return x * weight; }\n\
     int main(void) { return subject(2) + calls_so_far(); }\n";

/// Prints the version or the right object. A job whose output is there before its compile was given a wrong one: its
/// number, which is the name of its shard, is noted. A program and no script, so that it can travel.
const STAND_IN: &str = r#"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int print(const char *path) {
  char piece[65536];
  FILE *file = fopen(path, "rb");
  for (size_t length; file && (length = fread(piece, 1, sizeof piece, file)); )
    fwrite(piece, 1, length, stdout);
  return !file || fflush(stdout);
}
int main(int argc, char **argv) {
  const char *option = "-fthinlto-index=", *shard = "", *job;
  char path[4096];
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--version"))
      return print(VERSION);
    if (!strncmp(argv[i], option, strlen(option)))
      shard = argv[i] + strlen(option);
  }
  job = strrchr(shard, '/');
  if (!job)
    return 1;
  snprintf(path, sizeof path, "%.*s/out/%s.o", (int)(job - shard), shard, job + 1);
  if (!access(path, F_OK)) {
    snprintf(path, sizeof path, "%.*s/early", (int)(job - shard), shard);
    FILE *early = fopen(path, "a");
    if (!early || fprintf(early, "%s\n", job + 1) < 0 || fclose(early))
      return 1;
  }
  return print(OBJECT);
}
"#;

/// More than Linux buffers for a connection, at both ends together, unless it is told to.
const LARGE: usize = 16 << 20;

/// One backend job and what may be made of it.
pub(crate) struct Bench {
    program: Program,
    description: Value,
    /// What the real compiler makes of the job.
    pub(crate) object: Vec<u8>,
    /// What it makes of the link's other job.
    pub(crate) others_object: Vec<u8>,
    /// What it makes of the job when it is given the module under a name that the shard does not hold.
    pub(crate) misnamed_object: Vec<u8>,
    variables: Vec<(&'static str, &'static str)>,
    runs: AtomicUsize,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::of(Program::new(Language::C, &["-O2"]), SUBJECT)
    }

    /// A job whose request does not fit into the buffers of a connection.
    pub(crate) fn large() -> Self {
        let program = Program::new(Language::C, &["-O2"]);
        let mut state = 1_u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        });
        program.folder.write("noise", noise.take(LARGE).collect::<Vec<u8>>());
        let blob = "const unsigned char noise[] = {\n#embed \"noise\"\n};\n";
        Self::of(program, &format!("{SUBJECT}{blob}"))
    }

    fn of(program: Program, subject: &str) -> Self {
        let program = program.module("subject.c", subject).module("other.c", OTHER);
        let program = program.spelled(|folder, name| folder.join(name));
        let mut description = capture(&program);
        let [object, others_object] = [0, 1].map(|job| compile(&description, job, None));
        let misnamed = program.folder.join("misnamed.o");
        std::fs::copy(program.folder.join("subject.o"), &misnamed).expect("a copy of the module");
        let misnamed_object = compile(&description, 0, Some(&misnamed));
        assert_ne!(misnamed_object, object, "clang cares for the module's name");

        let version = program.folder.write("right/version", VERSION);
        let right = program.folder.write("right/object", &object);
        program.folder.write("right/clang.c", STAND_IN);
        let defined =
            [("VERSION", &version), ("OBJECT", &right)].map(|(name, file)| format!("-D{name}=\"{}\"", path(file)));
        let compiler = program.folder.join("right/clang-22");
        let arguments = ["-O1", "-static", "right/clang.c", "-o", path(&compiler)];
        clang(program.folder.path(), &[&arguments[..], &defined.each_ref().map(String::as_str)].concat());
        description["common"]["args"][0] = json!(compiler);
        Self {
            program,
            description,
            object,
            others_object,
            misnamed_object,
            variables: Vec::new(),
            runs: AtomicUsize::new(0),
        }
    }

    /// All runs wait one second at most for a host.
    pub(crate) fn impatient(self) -> Self {
        self.waiting("1")
    }

    /// All runs wait this many seconds at most for a host.
    pub(crate) fn waiting(mut self, seconds: &'static str) -> Self {
        self.variables.push(("DISTCC_IO_TIMEOUT", seconds));
        self
    }

    pub(crate) fn folder(&self) -> &Workdir {
        &self.program.folder
    }

    /// An object of the job's source for another machine.
    pub(crate) fn for_target(&self, target: &str) -> Vec<u8> {
        let target = format!("--target={target}");
        clang(self.folder().path(), &[&target, "-O2", "-c", "subject.c", "-o", "foreign"]);
        std::fs::read(self.folder().join("foreign")).expect("the object")
    }

    /// What a host answers that does as it should.
    pub(crate) fn good_answer(&self) -> impl Fn(&Request) -> Vec<u8> + Send + Sync + 'static {
        let object = self.object.clone();
        move |request| answer(request, &object)
    }

    /// The answer to a job with this object.
    pub(crate) fn answer_with(&self, object: &[u8]) -> Behaviour {
        Behaviour::Answer(Reply::success(object).encode())
    }

    /// A host that does as it should up to a phase and from then on behaves in this way, always.
    pub(crate) fn host(&self, from: Phase, behaviour: Behaviour) -> Scripted {
        self.host_from(from.connection(), behaviour)
    }

    /// The same from a connection on, counted from 0.
    pub(crate) fn host_from(&self, connection: usize, behaviour: Behaviour) -> Scripted {
        let good = self.good_answer();
        let early = !matches!(behaviour, Behaviour::Answer(_) | Behaviour::AnswerAndHold(_) | Behaviour::Trickle(_));
        Scripted::start(move |number, request| match request {
            _ if number >= connection => (early || request.is_some()).then(|| behaviour.clone()),
            Some(request) => Some(Behaviour::Answer(good(request))),
            None => None,
        })
    }

    /// Runs `jobs` copies of the job, with no local slot but for what falls back. `hosts`: a host list, which may be
    /// empty.
    pub(crate) fn run(&self, jobs: usize, hosts: &str, options: &[&str]) -> Ran {
        let folder = format!("run{}", self.runs.fetch_add(1, Ordering::Relaxed));
        let folder = self.folder().join(folder);
        std::fs::create_dir_all(folder.join("out")).expect("a folder for the objects");
        std::fs::create_dir(folder.join("locks")).expect("a folder for the slots");
        // The machine's own list is not read where the user has one.
        std::fs::create_dir_all(folder.join("home/.distcc")).expect("a home");
        std::fs::write(folder.join("home/.distcc/hosts"), "# nobody\n").expect("a host list");
        let outputs: Vec<PathBuf> = (0..jobs).map(|job| folder.join(format!("out/{job}.o"))).collect();
        let file = folder.join("jobs.json");
        std::fs::write(&file, self.describe(&folder, &outputs).to_string()).expect("the job description");
        let output = Command::new(THINBRIDGE)
            .current_dir(&folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder.join("home"))
            .env("XDG_RUNTIME_DIR", folder.join("locks"))
            .envs(self.variables.iter().copied())
            .args(["--local-slots=0", "--report=report.json"])
            .args((!hosts.is_empty()).then(|| format!("--hosts={hosts}")))
            .args(options)
            .arg(&file)
            .output()
            .expect("thinbridge starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let report = std::fs::read(folder.join("report.json")).ok();
        let report = report.map(|report| serde_json::from_slice(&report).expect("the report is JSON"));
        Ran {
            status: output.status,
            objects: outputs.iter().map(|output| std::fs::read(output).ok()).collect(),
            report: report.unwrap_or_else(|| panic!("no report was written:\n{stderr}")),
            stderr,
            folder,
        }
    }

    /// Each job has a name of its own for the shard, by which the stand-in knows it.
    fn describe(&self, folder: &Path, outputs: &[PathBuf]) -> Value {
        let mut description = self.description.clone();
        let job = |(number, output): (usize, &PathBuf)| {
            let mut job = self.description["jobs"][0].clone();
            let shard = folder.join(number.to_string());
            let original = job["inputs"][1].as_str().expect("a shard");
            std::os::unix::fs::symlink(original, &shard).expect("a link");
            job["args"][1] = json!(format!("-fthinlto-index={}", path(&shard)));
            job["args"][3] = json!(output);
            job["inputs"][1] = json!(shard);
            job["outputs"] = json!([output]);
            job
        };
        description["jobs"] = outputs.iter().enumerate().map(job).collect();
        description
    }
}

/// From when on a host is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// From the question for its version.
    Probe,
    /// From the job that it proves itself with.
    Canary,
    /// From the first job after that.
    Work,
}

impl Phase {
    /// The number of the connection, on a host with one slot.
    fn connection(self) -> usize {
        self as usize
    }
}

/// How a run went.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
    pub(crate) report: Value,
    /// What stands under each job's output name.
    pub(crate) objects: Vec<Option<Vec<u8>>>,
    folder: PathBuf,
}

impl Ran {
    /// Panics unless every object is the right one and was from the start, and nothing else is left.
    #[track_caller]
    pub(crate) fn expect_right(&self, bench: &Bench) -> &Self {
        let early = std::fs::read_to_string(self.folder.join("early")).unwrap_or_default();
        assert!(early.is_empty(), "a wrong object was published first for the jobs {early}");
        self.expect_right_at_last(bench)
    }

    /// Panics unless every object is the right one at the end, and nothing else is left.
    #[track_caller]
    pub(crate) fn expect_right_at_last(&self, bench: &Bench) -> &Self {
        assert!(self.status.success(), "the run failed:\n{}\n{:#}", self.stderr, self.report);
        for (job, object) in self.objects.iter().enumerate() {
            assert!(
                object.as_ref() == Some(&bench.object),
                "object {job} is not the local compile's:\n{:#}",
                self.report
            );
        }
        let left = std::fs::read_dir(self.folder.join("out")).expect("the folder of the objects").count();
        assert_eq!(left, self.objects.len(), "something lies beside the objects");
        expect_no_process_in(&self.folder);
        self
    }

    /// Panics unless the report says that this host failed, with these words in a reason. A bad answer to a job has to
    /// stand among that job's attempts too.
    #[track_caller]
    pub(crate) fn expect_failed(&self, host: &str, phase: Phase, words: &str) {
        let hosts = self.report["hosts"].as_array().expect("hosts");
        let found = hosts.iter().find(|found| found["host"] == host).expect("the report names every host");
        assert!(
            found["failures"].as_u64() >= Some(1),
            "{host} did not fail: {found}\n{}\n{:#}",
            self.stderr,
            self.report
        );
        let named = |reason: &Value| reason.as_str().is_some_and(|reason| reason.contains(words));
        assert!(found["reasons"].as_array().expect("reasons").iter().any(named), "no {words:?} in {found}");
        if phase != Phase::Probe {
            self.expect_attempt(host, words);
        }
    }

    /// Panics unless the report has a failed attempt of some job on this host, with these words for a reason.
    #[track_caller]
    pub(crate) fn expect_attempt(&self, host: &str, words: &str) {
        let jobs = self.report["jobs"].as_array().expect("jobs");
        let mut attempts = jobs.iter().flat_map(|job| job["attempts"].as_array().expect("attempts"));
        let failed = |attempt: &Value| {
            let reason = attempt["reason"].as_str();
            attempt["host"] == host && attempt["outcome"] != "ok" && reason.is_some_and(|reason| reason.contains(words))
        };
        assert!(attempts.any(failed), "no job tells of {host} and {words:?}: {:#}", self.report);
    }
}

/// Panics if a process runs in this folder or names it: compilers that were left behind.
#[track_caller]
pub(crate) fn expect_no_process_in(folder: &Path) {
    let name = format!("{}/", path(folder)).into_bytes();
    for process in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let process = process.path();
        let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let inside = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        let named = command.windows(name.len()).any(|window| window == name);
        assert!(!inside && !named, "{} is left: {}", process.display(), String::from_utf8_lossy(&command));
    }
}

/// The job description of the program's link, with the files it names put back after the linker took them away.
fn capture(program: &Program) -> Value {
    let kept = program.folder.join("kept");
    let script =
        "#!/bin/sh\nfor json; do :; done\nmkdir kept && cp *.thinlto.bc kept && cp \"$json\" kept/jobs.json\nexit 1\n";
    let distributor = program.folder.write_executable("keep", script);
    let linked = crate::support::Link::of(program).distributor(distributor).run();
    assert!(!linked.status.success(), "the script fails the link");
    for file in std::fs::read_dir(&kept).expect("the script ran").flatten() {
        std::fs::rename(file.path(), program.folder.join(file.file_name())).expect("a file put back");
    }
    let json = std::fs::read(program.folder.join("jobs.json")).expect("the job description");
    let mut description: Value = serde_json::from_slice(&json).expect("it is JSON");
    // The shards' names are as relative as the output's; runs have folders of their own.
    for job in description["jobs"].as_array_mut().expect("jobs") {
        let shard = program.folder.join(job["inputs"][1].as_str().expect("a shard"));
        job["args"][1] = json!(format!("-fthinlto-index={}", shard.display()));
        job["inputs"][1] = json!(shard);
    }
    description
}

/// What the real compiler makes of a job, or of that job with the module under another name.
fn compile(description: &Value, job: usize, module: Option<&Path>) -> Vec<u8> {
    let words = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).expect("strings") };
    let output = tempfile::NamedTempFile::new().expect("a temporary file");
    let common = words(&description["common"]["args"]);
    let mut own = words(&description["jobs"][job]["args"]);
    own[3] = output.path().display().to_string();
    if let Some(module) = module {
        own[0] = module.display().to_string();
        own.extend(["-x".to_owned(), "ir".to_owned()]);
        own.rotate_right(2);
    }
    run(Command::new(&common[0]).args(&common[1..]).args(own));
    std::fs::read(output.path()).expect("the object")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("the paths of tests are UTF-8")
}

fn answer(request: &Request, object: &[u8]) -> Vec<u8> {
    if request.is_job() { Reply::success(object).encode() } else { version_answer(VERSION) }
}

/// The answer to a probe from a host whose compiler says this.
pub(crate) fn version_answer(text: &str) -> Vec<u8> {
    Reply { version: 1, stdout: text.as_bytes().to_vec(), object: None, ..Reply::success(b"") }.encode()
}

/// The places of the machine code in an object: its sections of a program's bytes that are executed.
pub(crate) fn code(object: &[u8]) -> Vec<usize> {
    const SHT_PROGBITS: u64 = 1;
    const SHF_EXECINSTR: u64 = 4;
    let number =
        |at: usize, size: usize| object[at..at + size].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let sections = (0..number(60, 2)).map(|section| (number(40, 8) + section * 64) as usize);
    let code = sections.filter(|at| number(at + 4, 4) == SHT_PROGBITS && number(at + 8, 8) & SHF_EXECINSTR != 0);
    code.flat_map(|at| number(at + 24, 8)..number(at + 24, 8) + number(at + 32, 8)).map(|at| at as usize).collect()
}

/// The object with one byte of its code changed.
pub(crate) fn lie(object: &[u8], at: usize) -> Vec<u8> {
    let mut lie = object.to_vec();
    lie[at] ^= 1;
    lie
}
