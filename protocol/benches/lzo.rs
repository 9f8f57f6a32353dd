//! Compares our LZO1X with liblzo2's, on real bitcode and objects.
//!
//! `cargo bench -p thinbridge-protocol --bench lzo [-- FILE…]`. Without files it has clang make some, from C++ that
//! leans on the standard library. Cargo starts it in this package's folder, so name files by absolute paths.
//!
//! Both are measured in turns, so that what else the machine does hits both, and the medians are compared. The exit
//! status is 1 if a goal is missed over all files together: on a single small file, which matches happen to be found
//! decides more than anything else.
#![allow(missing_docs)]

#[path = "../tests/support/liblzo2.rs"]
mod liblzo2;

use std::ffi::OsString;
use std::iter::Sum;
use std::ops::Add;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use liblzo2::{Liblzo2, Work};
use thinbridge_protocol::lzo;

/// Our compressor's speed, as a share of `lzo1x_1_compress`'s: at least this.
const COMPRESS_GOAL: f64 = 0.5;
/// Our compressor's output, as a share of the size of `lzo1x_1_compress`'s: at most this.
const SIZE_GOAL: f64 = 1.1;
/// Our decompressor's speed, as a share of `lzo1x_decompress_safe`'s: at least this.
const DECOMPRESS_GOAL: f64 = 0.7;

/// Rounds a file. An odd number, so that the median is one of them.
const ROUNDS: usize = 15;
/// A round repeats its work until about this many bytes went through, so that small files can be timed too.
const BYTES_A_ROUND: usize = 4 << 20;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let files: Vec<PathBuf> =
        env::args_os().skip(1).filter(|argument| argument != "--bench").map(PathBuf::from).collect();
    let Some(liblzo2) = Liblzo2::load() else { return ExitCode::SUCCESS };
    let samples = if files.is_empty() { made_by_clang() } else { read(&files) };
    let samples = match samples {
        Ok(samples) => samples,
        Err(error) => {
            eprintln!("lzo bench: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("ours / liblzo2 (ratio); MB/s of uncompressed bytes, medians of {ROUNDS} interleaved rounds");
    println!("compressors write to a buffer that is there; of the decompressors only liblzo2's does");
    println!(
        "{:<24} {:>9}  {:>20}  {:>22}  {:>20}  {:>20}",
        "file", "bytes", "compress", "size, % of file", "decompress theirs", "decompress ours"
    );
    let all: Result = samples.iter().map(|sample| sample.measure(&liblzo2).print(&sample.name)).sum();
    let missed = all.print("all").missed();
    for goal in &missed {
        println!("MISSED: {goal}");
    }
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Sample {
    name: String,
    bytes: Vec<u8>,
}

impl Sample {
    fn measure(&self, liblzo2: &Liblzo2) -> Result {
        let bytes = self.bytes.as_slice();
        let (ours, theirs) = (lzo::compress(bytes), liblzo2.compress(bytes));
        assert!(liblzo2.decompress(&ours, bytes.len()).as_deref() == Ok(bytes), "liblzo2 reads our stream");
        assert!(lzo::decompress(&theirs, bytes.len()).as_deref() == Ok(bytes), "we read liblzo2's stream");

        let mut our_out = Vec::with_capacity(lzo::compressed_bound(bytes.len()));
        let mut out = vec![0; bytes.len() + bytes.len() / 16 + 67];
        let mut work = Work::new();
        let compress = Pair::of_times(
            bytes.len(),
            || {
                our_out.clear();
                lzo::compress_into(bytes, &mut our_out);
                our_out.len()
            },
            || liblzo2.compress_to(bytes, &mut out, &mut work),
        );
        let mut decompress = |stream: &[u8]| {
            Pair::of_times(
                bytes.len(),
                || lzo::decompress(stream, bytes.len()).map_or(0, |output| output.len()),
                || liblzo2.decompress_to(stream, &mut out).unwrap_or(0),
            )
        };
        Result {
            bytes: bytes.len() as f64,
            size: Pair { ours: ours.len() as f64, theirs: theirs.len() as f64 },
            compress,
            decompress_theirs: decompress(&theirs),
            decompress_ours: decompress(&ours),
        }
    }
}

/// What was measured on a file, or on several together.
#[derive(Default)]
struct Result {
    bytes: f64,
    /// In bytes.
    size: Pair,
    compress: Pair,
    /// Of the stream that liblzo2 made: what comes from stock distccd.
    decompress_theirs: Pair,
    /// Of the stream that we made.
    decompress_ours: Pair,
}

impl Result {
    fn print(self, name: &str) -> Self {
        let speeds = |times: &Pair| {
            let speed = |seconds: f64| self.bytes / 1e6 / seconds;
            format!("{:.0} / {:.0} ({:.2})", speed(times.ours), speed(times.theirs), times.speedup())
        };
        let share = |size: f64| 100.0 * size / self.bytes;
        let size = &self.size;
        println!(
            "{name:<24} {:>9}  {:>20}  {:>22}  {:>20}  {:>20}",
            self.bytes,
            speeds(&self.compress),
            format!("{:.1} / {:.1} ({:.3})", share(size.ours), share(size.theirs), size.ours / size.theirs),
            speeds(&self.decompress_theirs),
            speeds(&self.decompress_ours),
        );
        self
    }

    /// The goals that were missed.
    fn missed(&self) -> Vec<String> {
        let size = self.size.ours / self.size.theirs;
        let mut missed = Vec::new();
        if size > SIZE_GOAL {
            missed.push(format!("compressed size {size:.3}, at most {SIZE_GOAL}"));
        }
        for (what, times, goal) in [
            ("compressor", &self.compress, COMPRESS_GOAL),
            ("decompressor, liblzo2's streams", &self.decompress_theirs, DECOMPRESS_GOAL),
            ("decompressor, our streams", &self.decompress_ours, DECOMPRESS_GOAL),
        ] {
            if times.speedup() < goal {
                missed.push(format!("{what} {:.2} times as fast, at least {goal}", times.speedup()));
            }
        }
        missed
    }
}

impl Sum for Result {
    fn sum<I: Iterator<Item = Self>>(results: I) -> Self {
        results.fold(Self::default(), |sum, next| Self {
            bytes: sum.bytes + next.bytes,
            size: sum.size + next.size,
            compress: sum.compress + next.compress,
            decompress_theirs: sum.decompress_theirs + next.decompress_theirs,
            decompress_ours: sum.decompress_ours + next.decompress_ours,
        })
    }
}

/// The same of ours and of liblzo2's: sizes in bytes, or times in seconds.
#[derive(Default)]
struct Pair {
    ours: f64,
    theirs: f64,
}

impl Pair {
    /// Median times of the two, taking turns.
    fn of_times(bytes: usize, mut ours: impl FnMut() -> usize, mut theirs: impl FnMut() -> usize) -> Self {
        let repeat = (BYTES_A_ROUND / bytes.max(1)).max(1);
        let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            our_times.push(time(repeat, &mut ours));
            their_times.push(time(repeat, &mut theirs));
        }
        let seconds = |times| median(times).as_secs_f64() / repeat as f64;
        Self { ours: seconds(our_times), theirs: seconds(their_times) }
    }

    fn speedup(&self) -> f64 {
        self.theirs / self.ours
    }
}

impl Add for Pair {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { ours: self.ours + other.ours, theirs: self.theirs + other.theirs }
    }
}

fn time(repeat: usize, work: &mut impl FnMut() -> usize) -> Duration {
    let start = Instant::now();
    for _ in 0..repeat {
        std::hint::black_box(work());
    }
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn read(files: &[PathBuf]) -> io::Result<Vec<Sample>> {
    files.iter().map(|file| sample(file)).collect()
}

fn sample(file: &Path) -> io::Result<Sample> {
    let bytes = fs::read(file).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    Ok(Sample { name, bytes })
}

/// What clang makes of [`SOURCE`]: ThinLTO bitcode with and without debug information, and the objects.
fn made_by_clang() -> io::Result<Vec<Sample>> {
    let folder = env::temp_dir().join(format!("thinbridge-bench-lzo-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let samples = compile_all(&folder);
    fs::remove_dir_all(&folder)?;
    samples
}

fn compile_all(folder: &Path) -> io::Result<Vec<Sample>> {
    let source = folder.join("containers.cpp");
    fs::write(&source, SOURCE)?;
    [
        ("thinlto.bc", &["-flto=thin"][..]),
        ("thinlto-g.bc", &["-flto=thin", "-g"]),
        ("object.o", &[]),
        ("object-g.o", &["-g"]),
    ]
    .into_iter()
    .map(|(name, options)| {
        let file = folder.join(name);
        compile(&source, options, &file)?;
        sample(&file)
    })
    .collect()
}

fn compile(source: &Path, options: &[&str], to: &Path) -> io::Result<()> {
    for compiler in env::var_os("CXX").into_iter().chain(["clang++-22", "clang++"].map(OsString::from)) {
        let mut command = Command::new(&compiler);
        match command.args(["-std=c++20", "-O2", "-w", "-c"]).args(options).arg(source).arg("-o").arg(to).status() {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => return Err(io::Error::other(format!("{} failed: {status}", compiler.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no clang++-22 or clang++ found to make bitcode with: name files, or set CXX"))
}

/// The source that is compiled where no files are named.
const SOURCE: &str = include_str!("lzo_sample.cpp");
