//! Arguments with which a job needs more of this machine than its inputs, or leaves more than its object: files that
//! a distcc host does not have or would not send back.

use super::{Description, Job};

/// Options that write more files than the object. Each entry is the start of an option, without its dashes.
const WRITING: &[&str] = &[
    "coverage",
    "dependency-",
    "diagnostic-log-file",
    "dumpbase",
    "dumpdir",
    "emit-",
    "fcodegen-data-generate",
    "fcrash-diagnostics-dir",
    "fcreate-profile",
    "fcs-profile-generate",
    "fmodule-output",
    "foptimization-record-",
    "fproc-stat-report=",
    "fprofile-arcs",
    "fprofile-generate",
    "fprofile-instr-generate",
    "fprofile-instrument-path",
    "fsave-optimization-record",
    "fstack-usage",
    "ftest-coverage",
    "fthin-link-bitcode",
    "ftime-trace",
    "gen-cdb-fragment-path",
    "gen-reproducer",
    "gsplit-dwarf",
    "header-include-file",
    "index-store-path",
    "index-unit-output-path",
    "opt-record-",
    "save-stats",
    "save-temps",
    "serialize-diagnostic",
    "split-dwarf-",
    "stack-usage-file",
    "stats-file",
    "via-file-asm",
];

/// Options that read a file, which is no fault if it is among the common inputs.
const READING: &[&str] = &[
    "add-plugin",
    "config",
    "fauto-profile=",
    "fbasic-block-sections=list=",
    "fcodegen-data-use",
    "fexperimental-sanitize-metadata-ignorelist=",
    "fmemory-profile-use=",
    "fmodule-file=",
    "fmodule-map-file=",
    "fms-secure-hotpatch-functions-file=",
    "fpass-plugin",
    "fplugin",
    "fprofile-instr-use",
    "fprofile-instrument-use-path",
    "fprofile-list=",
    "fprofile-remapping-file=",
    "fprofile-sample-use",
    "fprofile-use",
    "frandomize-layout-seed-file=",
    "fsanitize-blacklist=",
    "fsanitize-coverage-allowlist=",
    "fsanitize-coverage-ignorelist=",
    "fsanitize-ignorelist=",
    "fsanitize-system-ignorelist=",
    "fthinlto-index=",
    "fxray-always-instrument=",
    "fxray-attr-list=",
    "fxray-never-instrument=",
    "ivfsoverlay",
    "load",
    "mlink-bitcode-file",
    "mlink-builtin-bitcode",
    "multi-lib-config",
    "specs",
];

/// Options that mean something else on every machine: its processor, its folders.
const OF_THIS_MACHINE: &[&str] = &["march=native", "mcpu=native", "mtune=native", "working-directory"];

/// How the names of LLVM's own options end when their value is a file.
const LLVM_FILE_OPTIONS: &[&str] = &["file", "filename", "path", "dir", "directory", "output"];

/// How the names of LLVM's own options start when they write or load files whatever their value is.
const LLVM_FILE_PREFIXES: &[&str] = &["dot-", "load", "save-temps", "split-dwarf", "stats-json", "view-"];

impl Description {
    /// Why a job can only run on this machine, with the argument that is the reason; `None` when it can run on any.
    pub fn asks_side_files(&self, job: &Job) -> Option<String> {
        if job.outputs.len() > 1 {
            return Some(format!("it has {} outputs", job.outputs.len()));
        }
        let mut args = self.common_args.iter().skip(1).chain(&job.args);
        while let Some(arg) = args.next() {
            let (named, reason) = match arg.as_str() {
                // The next word is the output, whatever it looks like.
                "-o" => (args.next(), None),
                "-mllvm" => {
                    let option = args.next();
                    (option, option.and_then(|option| of_llvm(option)))
                }
                _ if arg == job.module() => (None, None),
                _ => (Some(arg), self.of_clang(arg, job)),
            };
            if let (Some(named), Some(reason)) = (named, reason) {
                return Some(format!("'{}' {reason}", named.escape_debug()));
            }
        }
        None
    }

    fn of_clang(&self, arg: &str, job: &Job) -> Option<&'static str> {
        if arg.starts_with('@') {
            return Some("is a response file");
        }
        if let Some(options) = arg.strip_prefix("-Wp,") {
            return options.split(',').find_map(|option| self.of_clang(option, job));
        }
        if let Some(option) = arg.strip_prefix("-mllvm=") {
            return of_llvm(option);
        }
        let option = arg.strip_prefix("-Xclang=").unwrap_or(arg);
        let name = option.strip_prefix("--").or_else(|| option.strip_prefix('-'))?;
        let value = name.split_once('=').map_or("", |(_, value)| value);
        if starts(name, OF_THIS_MACHINE) {
            Some("means something else on another machine")
        } else if writes_dependencies(name) || starts(name, WRITING) {
            Some("asks for more files than the object")
        } else if starts(name, READING) && value != job.shard() && !self.common_inputs.iter().any(|file| file == value)
        {
            Some("reads a file that the linker did not list")
        } else {
            None
        }
    }
}

/// `-M`, `-MM`, `-MD`, `-MMD`, `-MF…`, `-MJ…`; the others of the family only change what these write.
fn writes_dependencies(name: &str) -> bool {
    matches!(name, "M" | "MM" | "MD" | "MMD") || name.starts_with("MF") || name.starts_with("MJ")
}

fn of_llvm(option: &str) -> Option<&'static str> {
    let name = option.trim_start_matches('-');
    let (name, value) = name.split_once('=').unwrap_or((name, ""));
    let names_file = LLVM_FILE_OPTIONS.iter().any(|end| match name.strip_suffix(end) {
        Some(rest) => rest.is_empty() || rest.ends_with('-'),
        None => false,
    });
    let file = names_file || starts(name, LLVM_FILE_PREFIXES) || value.contains('/') || value.starts_with("dot-");
    file.then_some("reads or writes a file")
}

fn starts(name: &str, options: &[&str]) -> bool {
    options.iter().any(|option| name.starts_with(option))
}
