//! The scan that a stock server makes of the command line before it runs it.
//!
//! A server that refuses says nothing, it closes the connection. So a client looks first. The rules are those of distccd
//! 3.4, found by asking it; later servers refuse less. The scan is textual: operands of options count as files, and
//! response files are not looked into.

#[cfg(test)]
mod tests;

use std::fmt;

/// Suffixes of what the server takes for the source, without remote assembly.
const SOURCE_SUFFIXES: [&[u8]; 14] =
    [b"i", b"ii", b"c", b"cc", b"cpp", b"cxx", b"cp", b"c++", b"C", b"m", b"mm", b"mi", b"mii", b"M"];

/// Arguments that are refused as they stand.
const REFUSED: [&[u8]; 9] = [
    b"-E",
    b"-march=native",
    b"-mtune=native",
    b"-flto",
    b"-fprofile-arcs",
    b"-ftest-coverage",
    b"--coverage",
    b"-fprofile-correction",
    b"-frepo",
];

/// Beginnings of arguments that are refused.
const REFUSED_PREFIXES: [&[u8]; 5] = [b"-specs=", b"-fprofile-generate", b"-fprofile-use", b"-fauto-profile", b"-dr"];

/// Beginnings of arguments that are refused wherever they stand, even as another option's operand: they make the
/// compiler load code.
const LOADS_CODE: [&[u8]; 2] = [b"-fplugin=", b"-specs="];

/// Options about dependencies that are not refused, besides those that have an operand.
const DEPENDENCY_SWITCHES: [&[u8]; 4] = [b"-MD", b"-MMD", b"-MG", b"-MP"];

/// Options about dependencies that have an operand, joined or separate.
const DEPENDENCY_OPTIONS: [&[u8]; 3] = [b"-MF", b"-MT", b"-MQ"];

/// Names of sources that configure scripts write; compiling them elsewhere would test the wrong machine.
const CONFIGURE_PREFIXES: [&[u8]; 2] = [b"conftest.", b"tmp.conftest."];

/// What `-x` may be followed by: beginnings of language names.
const LANGUAGES: [&[u8]; 3] = [b"c", b"objective-c", b"go"];

/// What the server found in a command line that it takes. The numbers are indices into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The argument that the server takes for the source.
    pub source: usize,
    /// The output; without one the server appends `-o`.
    pub output: Option<Output>,
}

/// Where a command line names its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// As an argument of its own, after `-o`.
    Separate(usize),
    /// Joined to `-o`.
    Joined(usize),
}

/// Why a stock server would refuse a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The argument at fault and its index, if it is a single one.
    pub argument: Option<(usize, String)>,
    /// What is wrong.
    pub reason: Reason,
}

/// The rules that a command line can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no compiler: no argument at all, an empty first one, or an option in its place.
    NoCompiler,
    /// Neither `-c` nor `-S`.
    NotCompiling,
    /// No argument looks like a source.
    NoSource,
    /// A second argument looks like a source.
    SecondSource,
    /// The source has no name before its suffix, so that no output name can be made of it.
    UnnamedSource,
    /// The source has a name that configure scripts use.
    ConfigureTest,
    /// A second output. An argument that ends with `.o` counts as one.
    SecondOutput,
    /// An argument that ends with `.o` is the only output, without `-o`.
    OutputWithoutOption,
    /// The output is `-`.
    OutputToStdout,
    /// An option lacks its operand.
    MissingOperand,
    /// An option that must be local, as it reads, writes or means something of the client's own machine.
    MustBeLocal,
    /// `-x` with a language that the server does not know.
    UnknownLanguage,
    /// An option that makes the compiler load code.
    LoadsCode,
}

/// Scans `argv`, the compiler first, as a stock server would.
///
/// # Errors
/// When the server would refuse it, or do something undefined.
///
/// ```
/// use thinbridge_protocol::distcc::scan;
///
/// assert!(scan(&["clang-22", "-c", "--language=ir", "m1.c", "-o", "m1.o"]).is_ok());
/// let refusal = scan(&["clang-22", "-c", "-x", "ir", "m1.c", "-o", "m1.o"]).unwrap_err();
/// assert_eq!(refusal.to_string(), "argument 2 \"-x\" needs a language that begins with c, objective-c or go");
/// ```
pub fn scan<A: AsRef<[u8]>>(argv: &[A]) -> Result<Scan, Refusal> {
    match argv.first().map(AsRef::as_ref) {
        None => return Err(Refusal { argument: None, reason: Reason::NoCompiler }),
        Some(b"") => return Err(refuse(0, b"", Reason::NoCompiler)),
        Some(compiler) if compiler.starts_with(b"-") => return Err(refuse(0, compiler, Reason::NoCompiler)),
        Some(_) => {}
    }
    let mut found = Found::default();
    let mut rest = argv.iter().map(AsRef::as_ref).enumerate().peekable();
    while let Some((index, argument)) = rest.next() {
        let kind = classify(argument).map_err(|reason| refuse(index, argument, reason))?;
        let accepted = match kind {
            Kind::Other => Ok(()),
            Kind::Compile => {
                found.compiles = true;
                Ok(())
            }
            Kind::HasOperand => rest.next().map(drop).ok_or(Reason::MissingOperand),
            Kind::Language => match rest.peek() {
                Some((_, language)) if !starts_with_any(language, &LANGUAGES) => Err(Reason::UnknownLanguage),
                _ => Ok(()),
            },
            Kind::Source => found.source(index, argument),
            Kind::Output => match rest.next() {
                Some((_, b"-")) => Err(Reason::OutputToStdout),
                Some((operand, _)) => found.output(FoundOutput::Named(Output::Separate(operand))),
                None => Err(Reason::MissingOperand),
            },
            Kind::JoinedOutput => found.output(FoundOutput::Named(Output::Joined(index))),
            Kind::Object => found.output(FoundOutput::Positional(index)),
        };
        accepted.map_err(|reason| refuse(index, argument, reason))?;
    }
    let scan = found.judge(argv)?;
    refuse_loaded_code(argv, scan)?;
    Ok(scan)
}

/// The name that a TCP server looks up in its folder of allowed compilers (`/usr/lib/distcc`) for `compiler`; `None` if
/// it refuses the compiler without looking.
///
/// A server run through ssh looks nothing up and takes any path.
pub fn allowed_compiler_name(compiler: &[u8]) -> Option<&[u8]> {
    let folder: &[&[u8]] = &[b"/usr/bin/", b"/bin/"];
    let name = folder.iter().find_map(|folder| match compiler.split_at_checked(folder.len()) {
        Some((start, name)) if start.eq_ignore_ascii_case(folder) => Some(name),
        _ => None,
    });
    Some(name.unwrap_or(compiler)).filter(|name| !name.is_empty() && !name.contains(&b'/'))
}

/// What an argument is to the server.
enum Kind {
    Other,
    Compile,
    /// An option whose operand is skipped.
    HasOperand,
    Language,
    Source,
    Output,
    JoinedOutput,
    /// An argument that the server takes for an output because of its suffix.
    Object,
}

fn classify(argument: &[u8]) -> Result<Kind, Reason> {
    if !argument.starts_with(b"-") {
        return Ok(match suffix(argument) {
            Some(b"o") => Kind::Object,
            Some(suffix) if SOURCE_SUFFIXES.contains(&suffix) => Kind::Source,
            _ => Kind::Other,
        });
    }
    if must_be_local(argument) {
        return Err(Reason::MustBeLocal);
    }
    Ok(match argument {
        b"-c" | b"-S" => Kind::Compile,
        b"-o" => Kind::Output,
        b"-o-" => return Err(Reason::OutputToStdout),
        _ if argument.starts_with(b"-o") => Kind::JoinedOutput,
        _ if argument.starts_with(b"-x") => Kind::Language,
        _ if DEPENDENCY_OPTIONS.contains(&argument) => Kind::HasOperand,
        _ => Kind::Other,
    })
}

fn must_be_local(option: &[u8]) -> bool {
    let dependencies = option.starts_with(b"-M")
        && !DEPENDENCY_SWITCHES.contains(&option)
        && !starts_with_any(option, &DEPENDENCY_OPTIONS);
    let assembler = option.starts_with(b"-Wa,") && (contains(option, b",-a") || contains(option, b"--MD"));
    dependencies || assembler || REFUSED.contains(&option) || starts_with_any(option, &REFUSED_PREFIXES)
}

/// What was found so far.
#[derive(Default)]
struct Found {
    compiles: bool,
    source: Option<usize>,
    output: Option<FoundOutput>,
}

enum FoundOutput {
    Named(Output),
    Positional(usize),
}

impl Found {
    fn source(&mut self, index: usize, argument: &[u8]) -> Result<(), Reason> {
        if starts_with_any(file_name(argument), &CONFIGURE_PREFIXES) {
            return Err(Reason::ConfigureTest);
        }
        match self.source.replace(index) {
            None => Ok(()),
            Some(_) => Err(Reason::SecondSource),
        }
    }

    fn output(&mut self, output: FoundOutput) -> Result<(), Reason> {
        match self.output.replace(output) {
            None => Ok(()),
            Some(_) => Err(Reason::SecondOutput),
        }
    }

    fn judge<A: AsRef<[u8]>>(self, argv: &[A]) -> Result<Scan, Refusal> {
        let at = |index: usize, reason| refuse(index, argv.get(index).map_or(b"", AsRef::as_ref), reason);
        if !self.compiles {
            return Err(Refusal { argument: None, reason: Reason::NotCompiling });
        }
        let Some(source) = self.source else {
            return Err(Refusal { argument: None, reason: Reason::NoSource });
        };
        match self.output {
            Some(FoundOutput::Named(output)) => Ok(Scan { source, output: Some(output) }),
            Some(FoundOutput::Positional(index)) => Err(at(index, Reason::OutputWithoutOption)),
            None if argv.get(source).is_some_and(|name| is_bare_suffix(file_name(name.as_ref()))) => {
                Err(at(source, Reason::UnnamedSource))
            }
            None => Ok(Scan { source, output: None }),
        }
    }
}

/// The server looks for these last, when it has put a name of its own in the output's place.
fn refuse_loaded_code<A: AsRef<[u8]>>(argv: &[A], scan: Scan) -> Result<(), Refusal> {
    for (index, argument) in argv.iter().map(AsRef::as_ref).enumerate() {
        let replaced = scan.output == Some(Output::Separate(index));
        if !replaced && starts_with_any(argument, &LOADS_CODE) {
            return Err(refuse(index, argument, Reason::LoadsCode));
        }
    }
    Ok(())
}

fn refuse(index: usize, argument: &[u8], reason: Reason) -> Refusal {
    Refusal { argument: Some((index, String::from_utf8_lossy(argument).into_owned())), reason }
}

/// What follows the last dot.
fn suffix(argument: &[u8]) -> Option<&[u8]> {
    let dot = argument.iter().rposition(|&byte| byte == b'.')?;
    argument.get(dot.checked_add(1)?..)
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

fn is_bare_suffix(name: &[u8]) -> bool {
    name.iter().rposition(|&byte| byte == b'.') == Some(0)
}

fn starts_with_any(text: &[u8], prefixes: &[&[u8]]) -> bool {
    prefixes.iter().any(|prefix| text.starts_with(prefix))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Some((index, text)) => write!(f, "argument {index} {text:?} {}", self.reason),
            None => write!(f, "the command line {}", self.reason),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCompiler => "does not begin with a compiler",
            Self::NotCompiling => "has neither -c nor -S",
            Self::NoSource => "names no source",
            Self::SecondSource => "looks like a second source",
            Self::UnnamedSource => "has no name before its suffix, and there is no -o",
            Self::ConfigureTest => "looks like a test of a configure script, which must run locally",
            Self::SecondOutput => "is a second output (whatever ends with .o counts as one)",
            Self::OutputWithoutOption => "looks like an output, but there is no -o",
            Self::OutputToStdout => "sends the output to stdout",
            Self::MissingOperand => "lacks its operand",
            Self::MustBeLocal => "must run locally",
            Self::UnknownLanguage => "needs a language that begins with c, objective-c or go",
            Self::LoadsCode => "makes the compiler load code",
        })
    }
}
