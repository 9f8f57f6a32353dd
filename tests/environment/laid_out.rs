//! Environments laid out in a folder, and jobs for the entry program in them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use thinbridge_protocol::bundle::{self, FileFact};

use crate::support::{THINBRIDGE, Workdir, run};

/// A compiler that does what its first argument says; static, so that it runs anywhere.
const STAND_IN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
extern char **environ;
static FILE *out;
static void copy(const char *name) {
    FILE *in = fopen(name, "rb"); int c;
    if (!in) { perror(name); exit(9); }
    while ((c = getc(in)) != EOF) putc(c, out);
}
int main(int argc, char **argv) {
    char file[4096];
    snprintf(file, sizeof file, "%s.cfg", argv[0]);
    if (argc > 1 && !strcmp(argv[argc - 1], "--version")) {
        puts("stand-in version 1");
        if (!access(file, R_OK)) printf("Configuration file: %s\n", file);
        return 0;
    }
    while (argc > 1 && !strncmp(argv[1], "--", 2)) { argc--; argv++; }
    if (argc < 4 || strcmp(argv[argc - 2], "-o")) { fputs("no output named\n", stderr); return 8; }
    const char *what = argv[1];
    if (!strcmp(what, "exit")) { fputs("an error\n", stderr); puts("a word"); return atoi(argv[2]); }
    if (!strcmp(what, "die")) raise(atoi(argv[2]));
    if (!strcmp(what, "nothing")) return 0;
    out = fopen(argv[argc - 1], "wb");
    if (!out) { perror(argv[argc - 1]); return 9; }
    if (!strcmp(what, "junk")) { fputs("junk", out); return 0; }
    fputs("\177ELF", out);
    if (!strcmp(what, "cat")) for (int i = 2; i < argc - 2; i++) copy(argv[i]);
    if (!strcmp(what, "environment")) {
        for (char **e = environ; *e; e++) fprintf(out, "%s\n", *e);
        char here[4096]; fprintf(out, "cwd=%s\n", getcwd(here, sizeof here));
    }
    if (!strcmp(what, "wait")) { fflush(out); puts("waiting"); fflush(stdout); for (;;) pause(); }
    fclose(out);
    return 0;
}
"#;

/// What is made once for all tests, and for the next run.
pub(crate) const SHARED: &str = env!("CARGO_TARGET_TMPDIR");

/// An environment in a folder, in which the entry program can be run without being root: it takes the environment to be
/// where it lies itself, and the stand-in needs nothing but itself.
pub(crate) struct LaidOut {
    pub(crate) root: PathBuf,
    /// Stands for the `/tmp` of the chroot.
    pub(crate) tmp: PathBuf,
    _folder: Workdir,
}

/// How a job ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) object: Vec<u8>,
}

/// Compiles the stand-in.
pub(crate) fn stand_in(folder: &Workdir, name: &str) -> PathBuf {
    let source = folder.write("stand-in.c", STAND_IN);
    let program = folder.join(name);
    run(Command::new("clang-22").args(["-O1", "-static", "-o"]).arg(&program).arg(&source));
    program
}

/// Makes an environment of a compiler.
pub(crate) fn pack(compiler: &Path, cache: &Path) -> PathBuf {
    let mut command = Command::new(THINBRIDGE);
    command.arg("environment").arg("--compiler").arg(compiler).env("XDG_CACHE_HOME", cache);
    field(&run(&mut command), "path").into()
}

/// A line of what `thinbridge environment` prints.
pub(crate) fn field(printed: &str, name: &str) -> String {
    let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no {name} in {printed}")).to_owned()
}

/// Unpacks as a compile server does.
pub(crate) fn unpack(archive: &Path, root: &Path) {
    let unpacked = zstd::Decoder::new(fs::File::open(archive).expect("an archive")).expect("zstd");
    tar::Archive::new(unpacked).unpack(root).expect("unpacked");
}

impl LaidOut {
    /// The environment of the stand-in, in a folder of its own.
    pub(crate) fn stand_in() -> Self {
        Self::of(&Self::stand_in_archive())
    }

    fn stand_in_archive() -> PathBuf {
        let shared = Path::new(SHARED).join("stand-in");
        let program = shared.join(blake3::hash(STAND_IN.as_bytes()).to_hex().as_str());
        if !program.exists() {
            let folder = Workdir::new();
            fs::create_dir_all(&shared).expect("created");
            let copy = shared.join(format!("unfinished-{}", folder.path().file_name().expect("a name").display()));
            fs::copy(stand_in(&folder, "stand-in"), &copy).expect("copied");
            fs::rename(copy, &program).expect("renamed");
        }
        pack(&program, &shared)
    }

    /// The environment in an archive.
    pub(crate) fn of(archive: &Path) -> Self {
        let folder = Workdir::new();
        let (root, tmp) = (folder.join("root"), folder.join("jobs"));
        unpack(archive, &root);
        fs::create_dir(&tmp).expect("created");
        Self { root, tmp, _folder: folder }
    }

    /// The program of this name in the environment.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The entry program as a compile server starts it.
    pub(crate) fn command(&self) -> Command {
        fs::write(self.output(), "").expect("an empty output");
        let mut command = Command::new(self.program("usr/bin/clang"));
        command.args(["-x", "c", "-c", "-", "-o", "icecc-2_3a656873.o", "-no-canonical-prefixes"]);
        command.current_dir(&self.tmp).env("PATH", "/usr/bin").env("LEAKED", "yes");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn output(&self) -> PathBuf {
        self.tmp.join("icecc-2_3a656873.o")
    }

    /// Runs a job of these bytes to its end; nothing but the object is left.
    pub(crate) fn run(&self, bundle: Vec<u8>) -> Ended {
        let child = self.command().spawn().expect("the entry program starts");
        let (status, stdout, stderr) = feed(child, bundle);
        let object = fs::read(self.output()).expect("an output");
        assert_eq!(self.left(), ["icecc-2_3a656873.o"]);
        Ended { status, stdout, stderr, object }
    }

    /// The names in the folder for jobs.
    pub(crate) fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.tmp).expect("readable");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Sends the bytes, all of which must be taken, and collects what comes.
pub(crate) fn feed(mut child: Child, bytes: Vec<u8>) -> (ExitStatus, String, String) {
    let mut stdin = child.stdin.take().expect("a pipe");
    let sender = thread::spawn(move || stdin.write_all(&bytes));
    let ended = child.wait_with_output().expect("an end");
    sender.join().expect("no panic").expect("the input is read to its end");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (ended.status, text(ended.stdout), text(ended.stderr))
}

/// A bundle with the true digests.
pub(crate) fn bundle(arguments: &[&str], files: &[(&str, &[u8])]) -> Vec<u8> {
    let facts: Vec<FileFact> = files
        .iter()
        .map(|(name, content)| FileFact {
            name: name.as_bytes().to_vec(),
            size: content.len() as u64,
            digest: *blake3::hash(content).as_bytes(),
        })
        .collect();
    let mut bytes = bundle::head(arguments, &facts).expect("a bundle").to_vec();
    files.iter().for_each(|(_, content)| bytes.extend_from_slice(content));
    bytes
}
