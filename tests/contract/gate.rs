//! A compiler that says when it has started and then waits to be let through: the moments of a test become events.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Command;

use crate::jobs::patiently;
use crate::support::{Workdir, run};

/// The gate. Its compilers are clang-22 behind a shell.
pub(crate) struct Gate {
    pub(crate) compiler: PathBuf,
    folder: PathBuf,
}

/// The compilers that have come to the gate. Their pipe ends when the last of them, and of their children, has ended.
pub(crate) struct Arrivals {
    pipe: BufReader<File>,
}

impl Gate {
    /// Makes the compiler, in this folder.
    pub(crate) fn new(folder: &Workdir) -> Self {
        Self::passing(folder, "''")
    }

    /// The same, but the compiles of modules that match a shell pattern do not stop.
    pub(crate) fn passing(folder: &Workdir, pattern: &str) -> Self {
        let gate = folder.join("gate");
        std::fs::create_dir(&gate).expect("a new folder");
        run(Command::new("mkfifo").arg(gate.join("alive")).arg(gate.join("open")));
        let text = format!(
            "#!/bin/sh\n\
             for word; do case $word in --version|{pattern}) exec clang-22 \"$@\";; esac; done\n\
             exec 3>'{0}/alive'\n\
             echo $$ $PPID >&3\n\
             sleep 100 &\n\
             : <'{0}/open'\n\
             kill $!\n\
             exec clang-22 \"$@\"\n",
            gate.display()
        );
        Self { compiler: folder.write_executable("gate/compiler", &text), folder: gate }
    }

    /// Waits for the first compiler.
    #[track_caller]
    pub(crate) fn arrivals(&self) -> Arrivals {
        let alive = self.folder.join("alive");
        let pipe = patiently("a compiler", move || File::open(alive).expect("the pipe opens"));
        Arrivals { pipe: BufReader::new(pipe) }
    }

    /// Lets every compiler through, those that come later too, as long as the answer is held.
    pub(crate) fn open(&self) -> File {
        File::options().read(true).write(true).open(self.folder.join("open")).expect("the pipe opens")
    }
}

impl Arrivals {
    /// The next compiler: its process and its parent's.
    #[track_caller]
    pub(crate) fn next(self) -> (Self, u32, u32) {
        let Self { mut pipe } = self;
        let (pipe, line) = patiently("a compiler", move || {
            let mut line = String::new();
            pipe.read_line(&mut line).expect("readable");
            (pipe, line)
        });
        let mut numbers = line.split_whitespace().map(|number| number.parse().expect("a number"));
        let mut number = || numbers.next().expect("a compiler came");
        (Self { pipe }, number(), number())
    }

    /// Waits until all compilers and their children have ended.
    #[track_caller]
    pub(crate) fn expect_gone(self) {
        let Self { mut pipe } = self;
        patiently("the end of the compilers", move || pipe.read_to_end(&mut Vec::new()).expect("readable"));
    }
}

/// Sends a signal, as kill(1) spells it, to a process, or to a group if it begins with a dash.
pub(crate) fn kill(signal: &str, process: &str) {
    run(Command::new("kill").args([signal, "--", process]));
}
