//! How linkers spell the options that concern code generation.
//!
//! Sources: `Options.td` of lld's ELF and COFF linkers, and what ld.lld 22 was seen to accept. A single dash before an
//! option that takes two is a library (`-lto-emit-asm` is `-l to-emit-asm`), so dashes count.

/// An option that was given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Given {
    pub(super) setting: Setting,
    pub(super) value: String,
    /// As it stands on the command line.
    pub(super) text: String,
    pub(super) style: Style,
}

impl Given {
    /// The profile that the backends would read.
    pub(super) fn profile(&self) -> Option<&str> {
        (self.setting == Setting::ContextProfile && !self.value.is_empty()).then_some(self.value.as_str())
    }
}

/// Whose spelling.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Style {
    /// ld.lld's.
    Elf,
    /// lld-link's.
    Coff,
}

/// What an option sets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Setting {
    /// An option of LLVM itself, with its dashes.
    Llvm,
    /// A pass plugin to load.
    PassPlugin,
    OptimizationLevel,
    CodegenLevel,
    EmitAssembly,
    EmitBitcode,
    ContextProfileGenerate,
    ContextProfile,
    BlockSections,
    BlockAddressMap,
    BlockSectionNames,
    Passes,
    AliasPipeline,
    PassManagerWords,
    RemarksFile,
    RemarksDetail,
    SplitDwarfFolder,
}

impl Setting {
    /// Whether every occurrence counts; of the others the last one does.
    fn adds_up(self) -> bool {
        matches!(self, Self::Llvm | Self::PassPlugin | Self::RemarksDetail)
    }
}

/// Where an option's value is.
#[derive(Clone, Copy)]
enum Form {
    /// It has none; this one is meant.
    Flag(&'static str),
    /// Right behind the name.
    Joined,
    /// Behind `=`, or in the next argument.
    Equals,
    /// In the next argument.
    Separate,
}

use Form::{Equals, Flag, Joined, Separate};

/// Name, whether two dashes are needed, form, setting.
const ELF: &[(&str, bool, Form, Setting)] = &[
    ("mllvm", false, Equals, Setting::Llvm),
    ("load-pass-plugin", true, Equals, Setting::PassPlugin),
    ("lto-O", true, Joined, Setting::OptimizationLevel),
    ("lto-CGO", true, Joined, Setting::CodegenLevel),
    ("lto-emit-asm", true, Flag("on"), Setting::EmitAssembly),
    ("lto-emit-llvm", true, Flag("on"), Setting::EmitBitcode),
    ("lto-cs-profile-generate", true, Flag("on"), Setting::ContextProfileGenerate),
    ("lto-cs-profile-file=", true, Joined, Setting::ContextProfile),
    ("lto-basic-block-sections=", true, Joined, Setting::BlockSections),
    ("lto-basic-block-address-map", true, Flag("on"), Setting::BlockAddressMap),
    ("no-lto-basic-block-address-map", true, Flag("off"), Setting::BlockAddressMap),
    ("lto-unique-basic-block-section-names", true, Flag("on"), Setting::BlockSectionNames),
    ("no-lto-unique-basic-block-section-names", true, Flag("off"), Setting::BlockSectionNames),
    ("lto-newpm-passes=", true, Joined, Setting::Passes),
    ("lto-aa-pipeline=", true, Joined, Setting::AliasPipeline),
    ("lto-debug-pass-manager", true, Flag("on"), Setting::PassManagerWords),
    ("opt-remarks-filename", true, Separate, Setting::RemarksFile),
    ("opt-remarks-passes", true, Separate, Setting::RemarksDetail),
    ("opt-remarks-format", true, Separate, Setting::RemarksDetail),
    ("opt-remarks-with-hotness", true, Flag("on"), Setting::RemarksDetail),
    ("opt-remarks-hotness-threshold", true, Equals, Setting::RemarksDetail),
    ("plugin-opt=O", false, Joined, Setting::OptimizationLevel),
    ("plugin-opt=emit-asm", false, Flag("on"), Setting::EmitAssembly),
    ("plugin-opt=emit-llvm", false, Flag("on"), Setting::EmitBitcode),
    ("plugin-opt=cs-profile-generate", false, Flag("on"), Setting::ContextProfileGenerate),
    ("plugin-opt=cs-profile-path=", false, Joined, Setting::ContextProfile),
    ("plugin-opt=debug-pass-manager", false, Flag("on"), Setting::PassManagerWords),
    ("plugin-opt=opt-remarks-filename=", false, Joined, Setting::RemarksFile),
    ("plugin-opt=opt-remarks-passes=", false, Joined, Setting::RemarksDetail),
    ("plugin-opt=opt-remarks-format=", false, Joined, Setting::RemarksDetail),
    ("plugin-opt=opt-remarks-with-hotness", false, Flag("on"), Setting::RemarksDetail),
    ("plugin-opt=opt-remarks-hotness-threshold=", false, Joined, Setting::RemarksDetail),
    ("plugin-opt=dwo_dir=", false, Joined, Setting::SplitDwarfFolder),
];

/// What GCC passes to its own plugin; lld ignores it.
const OF_GCC: [&str; 2] = ["plugin-opt=-fresolution=", "plugin-opt=-pass-through="];

/// Name with its colon, form, setting. Case does not matter.
const COFF: &[(&str, Form, Setting)] = &[
    ("mllvm:", Joined, Setting::Llvm),
    ("lto-cs-profile-generate", Flag("on"), Setting::ContextProfileGenerate),
    ("lto-cs-profile-file:", Joined, Setting::ContextProfile),
    ("dwodir:", Joined, Setting::SplitDwarfFolder),
    ("lldemit:asm", Flag("on"), Setting::EmitAssembly),
    ("lldemit:llvm", Flag("on"), Setting::EmitBitcode),
];

/// ld.lld's options of one letter that take the next argument when nothing follows the letter.
const LETTERS_WITH_VALUE: &[u8] = b"FILORTbefhlmouyz";

/// ld.lld's options of more letters that take the next argument: what stands there is a value, whatever it looks like.
const WORDS_WITH_VALUE: &[&str] = &[
    "defsym",
    "dynamic-linker",
    "entry",
    "library",
    "library-path",
    "output",
    "plugin",
    "rpath",
    "rpath-link",
    "script",
    "soname",
    "sysroot",
    "thinlto-distributor",
    "thinlto-distributor-arg",
    "thinlto-remote-compiler",
    "thinlto-remote-compiler-arg",
    "thinlto-remote-compiler-prepend-arg",
    "undefined",
    "version-script",
    "wrap",
];

/// The options of a command line that concern us, each setting once, or as often as its occurrences add up.
pub(super) fn read(argv: &[String]) -> Vec<Given> {
    let mut all: Vec<Given> = Vec::new();
    let style = style(argv);
    let mut rest = argv.iter().map(String::as_str).skip(1);
    while let Some(argument) = rest.next() {
        let given = match style {
            Style::Coff => coff(argument),
            Style::Elf => elf(argument, &mut rest).into_iter().collect(),
        };
        for given in given {
            if !given.setting.adds_up() {
                all.retain(|earlier| earlier.setting != given.setting);
            }
            all.push(given);
        }
    }
    all
}

/// lld goes by its own name, or by `-flavor` in front.
fn style(argv: &[String]) -> Style {
    let name = argv.first().and_then(|path| path.rsplit(['/', '\\']).next()).unwrap_or_default();
    let flavor = match argv.get(1..3) {
        Some([option, value]) if option == "-flavor" => value.as_str(),
        _ => name,
    };
    let flavor = flavor.to_ascii_lowercase();
    if flavor.starts_with("lld-link") || flavor == "link" { Style::Coff } else { Style::Elf }
}

fn elf<'a>(argument: &'a str, rest: &mut impl Iterator<Item = &'a str>) -> Option<Given> {
    let (name, two_dashes) = match argument.strip_prefix("--") {
        Some(name) => (name, true),
        None => (argument.strip_prefix('-')?, false),
    };
    if OF_GCC.iter().any(|ignored| name.starts_with(ignored)) {
        return None;
    }
    let given = |setting, value: &str, text| Given { setting, value: value.to_owned(), text, style: Style::Elf };
    let whole = || argument.to_owned();
    if let Some(option) = name.strip_prefix("plugin-opt=").filter(|option| option.starts_with('-')) {
        return Some(given(Setting::Llvm, option, whole()));
    }
    // MinGW's way to an option of lld-link.
    if let Some(option) = name.strip_prefix("Xlink=") {
        return coff(option).into_iter().next().map(|given| Given { text: whole(), ..given });
    }
    for &(known, needs_two, form, setting) in ELF {
        if needs_two && !two_dashes {
            continue;
        }
        let Some(tail) = name.strip_prefix(known) else { continue };
        match (form, tail) {
            (Flag(value), "") => return Some(given(setting, value, whole())),
            (Joined, value) => return Some(given(setting, value, whole())),
            (Equals | Separate, "") => {
                let value = rest.next()?;
                return Some(given(setting, value, format!("{argument} {value}")));
            }
            (Equals, tail) => {
                if let Some(value) = tail.strip_prefix('=') {
                    return Some(given(setting, value, whole()));
                }
            }
            _ => {}
        }
    }
    let takes_next = match name.as_bytes() {
        [letter] => !two_dashes && LETTERS_WITH_VALUE.contains(letter),
        _ => WORDS_WITH_VALUE.contains(&name),
    };
    if takes_next {
        rest.next();
    }
    None
}

fn coff(argument: &str) -> Vec<Given> {
    let Some(name) = argument.strip_prefix(['/', '-']) else { return Vec::new() };
    let name = name.strip_prefix('?').unwrap_or(name);
    let given = |setting, value: &str| Given {
        setting,
        value: value.to_owned(),
        text: argument.to_owned(),
        style: Style::Coff,
    };
    if let Some(list) = strip_prefix_ignoring_case(name, "opt:") {
        return list.to_ascii_lowercase().split(',').filter_map(opt).map(|(set, value)| given(set, value)).collect();
    }
    for &(known, form, setting) in COFF {
        match (form, strip_prefix_ignoring_case(name, known)) {
            (Flag(value), Some("")) => return vec![given(setting, value)],
            (Joined, Some(value)) => return vec![given(setting, value)],
            _ => {}
        }
    }
    Vec::new()
}

/// One item of `/opt:`.
fn opt(item: &str) -> Option<(Setting, &str)> {
    match item {
        "ltodebugpassmanager" => Some((Setting::PassManagerWords, "on")),
        "noltodebugpassmanager" => Some((Setting::PassManagerWords, "off")),
        _ => match item.split_once('=')? {
            ("lldlto", level) => Some((Setting::OptimizationLevel, level)),
            ("lldltocgo", level) => Some((Setting::CodegenLevel, level)),
            _ => None,
        },
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(tail)
}
