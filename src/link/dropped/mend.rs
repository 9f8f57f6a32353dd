//! What becomes of each option, and the backend arguments that mend it.

use super::spelling::{Given, Setting};

/// What becomes of an option.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It reaches the backends, or does not change code.
    Harmless,
    /// It is lost. These compiler arguments have the same effect, where there are such.
    Dropped(Option<Vec<String>>),
}

use Verdict::{Dropped, Harmless};

/// What the judgement of one option needs to know of the others.
#[derive(Debug)]
pub(super) struct Link<'a> {
    /// The target triple of the backends.
    triple: &'a str,
    /// lld's optimization level, which is forwarded.
    level: &'a str,
    /// Whether instrumentation for a context-sensitive profile is asked for, and where its profiles go.
    instrumented: bool,
    profile: Option<&'a str>,
}

impl<'a> Link<'a> {
    pub(super) fn new(given: &'a [Given], forwarded: &[&'a str]) -> Self {
        let value = |setting| given.iter().find(|given| given.setting == setting).map(|given| given.value.as_str());
        Self {
            triple: forwarded.iter().rev().find_map(|arg| arg.strip_prefix("--target=")).unwrap_or_default(),
            level: value(Setting::OptimizationLevel).unwrap_or("2"),
            instrumented: value(Setting::ContextProfileGenerate).is_some(),
            profile: value(Setting::ContextProfile),
        }
    }

    pub(super) fn judge(&self, given: &Given) -> Verdict {
        let value = given.value.as_str();
        match given.setting {
            Setting::OptimizationLevel => Harmless,
            // The backends take both levels from the one that is forwarded.
            Setting::CodegenLevel if value == self.level => Harmless,
            Setting::CodegenLevel => Dropped(None),
            Setting::EmitAssembly
            | Setting::EmitBitcode
            | Setting::Passes
            | Setting::AliasPipeline
            | Setting::RemarksFile
            | Setting::RemarksDetail
            | Setting::SplitDwarfFolder => Dropped(None),
            Setting::PassPlugin => by(format!("-fpass-plugin={value}")),
            Setting::ContextProfileGenerate => by(self.instrumentation()),
            // With instrumentation it is where profiles are to be written, and part of that option's mend.
            Setting::ContextProfile if self.instrumented => Harmless,
            Setting::ContextProfile => by(format!("-fprofile-use={value}")),
            Setting::BlockSections => block_sections(value),
            Setting::BlockAddressMap if value == "on" => by("-fbasic-block-address-map"),
            Setting::BlockSectionNames if value == "on" => by("-funique-basic-block-section-names"),
            Setting::PassManagerWords if value == "on" => all(["-Xclang", "-fdebug-pass-manager"]),
            Setting::BlockAddressMap | Setting::BlockSectionNames | Setting::PassManagerWords => Harmless,
            Setting::Llvm => self.llvm(value),
        }
    }

    fn instrumentation(&self) -> String {
        match self.profile.and_then(|profile| profile.strip_suffix("/default_%m.profraw")) {
            Some(folder) => format!("-fcs-profile-generate={folder}"),
            None => "-fcs-profile-generate".to_owned(),
        }
    }

    /// An option of LLVM. Those that select code generation belong to the tool that hosts LLVM: clang does not know
    /// them, or sets what they set from options of its own.
    fn llvm(&self, option: &str) -> Verdict {
        let plain = option.trim_start_matches('-');
        let (name, value) = plain.split_once('=').map_or((plain, None), |(name, value)| (name, Some(value)));
        if is_harmless(name) || self.is_default(name, value) {
            return Harmless;
        }
        if CLANG_HAS_NONE.contains(&name) {
            return Dropped(None);
        }
        if let Some((_, on, off)) = SWITCHES.iter().find(|(known, ..)| *known == name) {
            return switch(value, on, off);
        }
        if let Some((_, prefix)) = VALUES.iter().find(|(known, _)| *known == name) {
            return value.map_or(Dropped(None), |value| by(format!("{prefix}{value}")));
        }
        match (name, value.unwrap_or_default()) {
            ("basic-block-sections", value) => block_sections(value),
            ("relocation-model", "pic") => by("-fPIC"),
            ("relocation-model", "static") => by("-fno-pic"),
            ("exception-model", "dwarf") => by("-fdwarf-exceptions"),
            ("exception-model", "sjlj") => by("-fsjlj-exceptions"),
            ("exception-model", "wineh") => by("-fseh-exceptions"),
            ("debugger-tune", tune @ ("gdb" | "lldb" | "sce")) => by(format!("-g{tune}")),
            ("meabi", value) => all(["-meabi", value]),
            ("vector-library", "LIBMVEC") => by("-fveclib=libmvec"),
            ("vector-library", "sleefgnuabi") => by("-fveclib=SLEEF"),
            ("vector-library", library) => by(format!("-fveclib={library}")),
            ("enable-tlsdesc", _) if self.triple.starts_with("riscv") || self.triple.starts_with("loongarch") => {
                switch(value, &["-mtls-dialect=desc"], &["-mtls-dialect=trad"])
            }
            ("enable-tlsdesc", _) => switch(value, &["-mtls-dialect=gnu2"], &["-mtls-dialect=gnu"]),
            ("relocation-model" | "exception-model" | "debugger-tune", _) => Dropped(None),
            _ => all(["-mllvm", option]),
        }
    }

    /// What a driver passes on because it is the target's default, so that clang does it untold.
    fn is_default(&self, name: &str, value: Option<&str>) -> bool {
        let on = is_on(value);
        match name {
            "emulated-tls" => on == has_emulated_tls(self.triple),
            "enable-tlsdesc" => on == has_tls_descriptors(self.triple),
            _ => false,
        }
    }
}

/// LLVM options that the linker has and clang has not, and that no option of clang stands for. Among them those whose
/// counterpart was seen not to have the same effect.
const CLANG_HAS_NONE: &[&str] = &[
    "dwarf-version",
    "emit-call-site-info",
    "enable-no-infs-fp-math",
    "enable-no-nans-fp-math",
    "enable-no-signed-zeros-fp-math",
    "enable-no-trapping-fp-math",
    "enable-sign-dependent-rounding-fp-math",
    "fp-contract",
    "ignore-xcoff-visibility",
    "mxcoff-roptr",
    "stack-symbol-ordering",
    "tailcallopt",
    "thread-model",
    "xcoff-traceback-table",
];

/// LLVM options that are on or off, with clang's arguments for either.
const SWITCHES: &[(&str, &[&str], &[&str])] = &[
    ("call-graph-section", &["-fexperimental-call-graph-section"], &["-fno-experimental-call-graph-section"]),
    ("crel", &["-Wa,--crel,--allow-experimental-crel"], &["-Wa,--no-crel"]),
    ("dwarf64", &["-gdwarf64"], &["-gdwarf32"]),
    ("emulated-tls", &["-femulated-tls"], &["-fno-emulated-tls"]),
    // Without debug information clang ignores the first.
    ("enable-jmc-instrument", &["-fjmc", "-g"], &["-fno-jmc"]),
    ("force-dwarf-frame-section", &["-fforce-dwarf-frame"], &["-fno-force-dwarf-frame"]),
    ("generate-type-units", &["-fdebug-types-section"], &["-fno-debug-types-section"]),
    ("mc-relax-all", &["-mrelax-all"], &["-mno-relax-all"]),
    ("nozero-initialized-in-bss", &["-fno-zero-initialized-in-bss"], &["-fzero-initialized-in-bss"]),
    ("save-temp-labels", &["-Wa,-L"], &[]),
    ("separate-named-sections", &["-fseparate-named-sections"], &["-fno-separate-named-sections"]),
    ("split-machine-functions", &["-fsplit-machine-functions"], &["-fno-split-machine-functions"]),
    ("stack-size-section", &["-fstack-size-section"], &["-fno-stack-size-section"]),
    ("unique-section-names", &["-funique-section-names"], &["-fno-unique-section-names"]),
    (
        "unique-basic-block-section-names",
        &["-funique-basic-block-section-names"],
        &["-fno-unique-basic-block-section-names"],
    ),
    ("use-ctors", &["-fno-use-init-array"], &["-fuse-init-array"]),
    ("x86-relax-relocations", &["-Wa,-mrelax-relocations=yes"], &["-Wa,-mrelax-relocations=no"]),
    (
        "xray-function-index",
        &["-fxray-instrument", "-fxray-function-index"],
        &["-fxray-instrument", "-fno-xray-function-index"],
    ),
];

/// LLVM options with a value that clang takes behind an option of its own.
const VALUES: &[(&str, &str)] = &[
    ("align-loops", "-falign-loops="),
    ("code-model", "-mcmodel="),
    ("emit-dwarf-unwind", "-femit-dwarf-unwind="),
    ("float-abi", "-mfloat-abi="),
    ("large-data-threshold", "-mlarge-data-threshold="),
    ("swift-async-fp", "-fswift-async-fp="),
    ("target-abi", "-mabi="),
    ("tls-size", "-mtls-size="),
];

/// LLVM options that change nothing in a distributed link: the bitcode carries what they set, the linker overrides
/// them, they concern only the thin link, or they only make words.
fn is_harmless(name: &str) -> bool {
    const NAMES: &[&str] = &[
        // Every function carries them as attributes.
        "denormal-fp-math",
        "denormal-fp-math-f32",
        "disable-tail-calls",
        "frame-pointer",
        "mattr",
        "mcpu",
        "stackrealign",
        "trap-func",
        // The linker has its own way, and it is the backends' too.
        "addrsig",
        "basic-block-address-map",
        "data-sections",
        "filetype",
        "function-sections",
        "march",
        "no-pgo-warn-mismatch",
        // Words.
        "debug",
        "debug-only",
        "debug-pass",
        "info-output-file",
        "stats",
        "stats-json",
        "time-passes",
    ];
    const PREFIXES: &[&str] =
        &["crash-diagnostics-", "import-", "pass-remarks", "print-", "time-trace", "verify-", "view-"];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The ways to say which blocks get sections of their own. `labels` has no effect any more (lld 22).
fn block_sections(value: &str) -> Verdict {
    match value {
        "" | "none" | "labels" => Harmless,
        "all" => by("-fbasic-block-sections=all"),
        list => by(format!("-fbasic-block-sections=list={list}")),
    }
}

/// Android below 29, OpenBSD, OpenHarmony and Cygwin, by LLVM's `hasDefaultEmulatedTLS`.
fn has_emulated_tls(triple: &str) -> bool {
    triple.split('-').skip(1).any(|part| match part.strip_prefix("android") {
        Some(version) => {
            let version = version.trim_start_matches("eabi");
            let major = version.split('.').next().unwrap_or_default();
            major.parse::<u32>().map_or(true, |major| major < 29)
        }
        None => ["openbsd", "ohos", "cygwin"].iter().any(|name| part.starts_with(name)),
    })
}

/// AArch64, Fuchsia and Android on RISC-V, by LLVM's `hasDefaultTLSDESC` and what clang 22 passes.
fn has_tls_descriptors(triple: &str) -> bool {
    triple.starts_with("aarch64")
        || triple.starts_with("arm64")
        || triple.contains("-fuchsia")
        || (triple.starts_with("riscv64") && triple.contains("-android"))
}

/// LLVM's reading of a switch: without a value it is on.
fn is_on(value: Option<&str>) -> bool {
    !matches!(value, Some("0" | "false" | "FALSE" | "False"))
}

fn switch(value: Option<&str>, on: &[&str], off: &[&str]) -> Verdict {
    let arguments = if is_on(value) { on } else { off };
    if arguments.is_empty() { Harmless } else { all(arguments.iter().copied()) }
}

fn by(argument: impl Into<String>) -> Verdict {
    Dropped(Some(vec![argument.into()]))
}

fn all<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Verdict {
    Dropped(Some(arguments.into_iter().map(str::to_owned).collect()))
}
