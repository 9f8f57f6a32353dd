//! What the entry program costs a job.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::laid_out::{LaidOut, bundle, feed};
use crate::support::require;

/// The most that the entry program may take, as a share of what the compiler takes to tell its version.
const SHARE: f64 = 0.4;

/// Of so many runs the shortest counts: the others were disturbed.
const RUNS: usize = 30;

fn shortest(mut run: impl FnMut()) -> Duration {
    let timed = (0..RUNS).map(|_| {
        let begin = Instant::now();
        run();
        begin.elapsed()
    });
    timed.min().unwrap_or_default()
}

#[test]
fn the_entry_program_takes_a_fraction_of_the_compiler_s_start() {
    if !require(&["clang-22"]) {
        return;
    }
    let environment = LaidOut::stand_in();
    let module = vec![0x5a; 1_000_000];
    let shard = vec![0xa5; 20_000];
    let job = bundle(&["empty"], &[("module.o", &module), ("module.o.thinlto.bc", &shard)]);
    let whole = shortest(|| {
        let (status, ..) = feed(environment.command().spawn().unwrap(), job.clone());
        assert!(status.success());
    });
    let silent = |command: &mut Command| {
        assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    };
    let version = shortest(|| silent(Command::new("clang-22").arg("--version")));
    let share = whole.as_secs_f64() / version.as_secs_f64();
    println!("a job with a compiler that does nothing: {whole:?}; clang-22 --version: {version:?}; ratio {share:.2}");
    assert!(share <= SHARE, "{share:.2}");
}
