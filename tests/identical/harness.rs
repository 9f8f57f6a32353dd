//! One program, linked in several places.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::{
    Farm, Language, Link, Linked, Program, ROOT, SMALL_C, SMALL_C_OUTPUT, THINBRIDGE, Workdir, isolate,
};
pub(crate) use crate::support::{expect_all_local, expect_all_remote, expect_same_objects};

/// The volunteers of all these tests. They end with the test's process, which holds their standard input.
pub(crate) fn farm() -> &'static Farm {
    static FARM: OnceLock<Farm> = OnceLock::new();
    FARM.get_or_init(|| Farm::start(2))
}

/// Links the program everywhere and compares everything. Answers the program that was made on the hosts.
#[track_caller]
pub(crate) fn same_everywhere(program: &Program) -> Linked {
    same_with(program, |link| link)
}

/// The same for links with something particular about them.
#[track_caller]
pub(crate) fn same_with<'p>(program: &'p Program, adjust: impl Fn(Link<'p>) -> Link<'p>) -> Linked {
    let in_process = adjust(Link::in_process(program)).run().expect_success();
    let remote = here_and_there(program, adjust);
    remote.expect_same_bytes(&in_process);
    remote
}

/// The same where the compiler, given the same job, does not do quite what the linker does in its own process (`-O0`,
/// Rust): a plain local distributor is what counts then.
#[track_caller]
pub(crate) fn same_as_plain_distributor<'p>(program: &'p Program, adjust: impl Fn(Link<'p>) -> Link<'p>) -> Linked {
    let plain = Path::new(ROOT).join("integration/local-distributor");
    let plain = adjust(Link::of(program).distributor(plain).output("plain")).run().expect_success();
    let remote = here_and_there(program, adjust);
    remote.expect_same_bytes(&plain);
    remote
}

/// Links on this machine and on the hosts, and compares the objects and the programs.
#[track_caller]
fn here_and_there<'p>(program: &'p Program, adjust: impl Fn(Link<'p>) -> Link<'p>) -> Linked {
    let kept = |link: Link<'p>, name| adjust(link.argument("-Wl,--save-temps").output(name)).run().expect_success();
    let local = kept(Link::of(program), "local");
    let remote = kept(Link::of(program).hosts(farm().hosts()).remote_only(), "remote");
    expect_all_local(&local);
    expect_all_remote(&remote);
    expect_same_objects(&local, &remote);
    local.expect_same_bytes(&remote);
    remote
}

/// Where the backends of a link run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the linker.
    InProcess,
    /// Here, started by a script that knows nothing.
    Plain,
    /// Here, started by thinbridge.
    Local,
    /// On the hosts.
    Remote,
}

impl Place {
    /// A name for its folder.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Plain => "plain",
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }

    /// The program that runs the backends, unless the linker does.
    pub(crate) fn distributor(self) -> PathBuf {
        match self {
            Self::InProcess | Self::Plain => Path::new(ROOT).join("integration/local-distributor"),
            Self::Local | Self::Remote => THINBRIDGE.into(),
        }
    }

    /// The options of that program.
    pub(crate) fn options(self) -> Vec<String> {
        let report = format!("--report={}/report.json", self.name());
        match self {
            Self::InProcess | Self::Plain => Vec::new(),
            Self::Local => vec![report],
            Self::Remote => {
                let hosts = format!("--hosts={}", farm().hosts());
                vec![report, hosts, "--local-slots=0".to_owned(), "--fallback=off".to_owned()]
            }
        }
    }

    /// Runs the link that makes this place's `output`.
    #[track_caller]
    fn run(self, folder: &Workdir, output: &str, mut command: Command) -> Linked {
        std::fs::create_dir(folder.join(self.name())).expect("a new folder");
        isolate(&mut command, folder);
        let ended = command.current_dir(folder.path()).output().expect("the linker starts");
        let path = folder.join(self.name()).join(output);
        let report = std::fs::read(folder.join(self.name()).join("report.json")).ok();
        let linked = Linked {
            status: ended.status,
            stdout: String::from_utf8_lossy(&ended.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
            folder: folder.path().to_owned(),
            bytes: std::fs::read(&path).ok(),
            path,
            report: report.map(|report| serde_json::from_slice(&report).expect("the report is JSON")),
        };
        linked.expect_success()
    }
}

/// As [`same_with`], for links that another program than clang starts. Each place's `command` runs in `folder`, keeps its
/// temporary files, and makes `output` in the folder of the place's name. The plain distributor's bytes count. Answers
/// the in-process link and the hosts'.
#[track_caller]
pub(crate) fn same_commands(folder: &Workdir, output: &str, command: impl Fn(Place) -> Command) -> [Linked; 2] {
    let link = |place: Place| place.run(folder, output, command(place));
    let (in_process, plain, local) = (link(Place::InProcess), link(Place::Plain), link(Place::Local));
    let remote = link(Place::Remote);
    expect_all_local(&local);
    expect_all_remote(&remote);
    expect_same_objects(&local, &remote);
    local.expect_same_bytes(&plain);
    remote.expect_same_bytes(&plain);
    [in_process, remote]
}

/// [`Program::small_c`] with its modules under these names.
pub(crate) fn small_c_named(names: [&str; 4]) -> Program {
    let modules = names.iter().zip(SMALL_C);
    modules.fold(Program::new(Language::C, &["-O2"]), |program, (name, (_, text))| program.module(name, text))
}

/// Panics unless this is [`Program::small_c`], and works.
#[track_caller]
pub(crate) fn expect_small_c(linked: &Linked) {
    assert_eq!(linked.output(), SMALL_C_OUTPUT);
}
