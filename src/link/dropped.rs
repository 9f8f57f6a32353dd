//! Which of the linker's options change code and yet never reach a ThinLTO backend.
//!
//! With DTLTO the linker hands a few of its options to the backend compiles and keeps the rest to itself, without a
//! word; the program then differs from the one that in-process ThinLTO makes. What is dropped and what mends it was
//! found by comparing programs linked by ld.lld 22 in-process, distributed, and distributed with the mend.

mod mend;
mod spelling;
#[cfg(test)]
mod tests;

/// An option that no backend hears of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Dropped {
    /// The option, as it stands on the linker's command line.
    pub option: String,
    /// The linker options that bring it to the backends; `None` where there are none.
    pub mend: Option<String>,
    /// The profile that the option names. The driver names any `-fprofile-use` profile to the linker, but only a
    /// context-sensitive one is for the backends: see [`is_context_sensitive`].
    pub profile: Option<String>,
}

/// Finds the dropped options in the linker's command line, program name first and response files expanded. `forwarded`
/// are the arguments that each backend job is given (`common.args`): what is among them already is not dropped.
///
/// Options that a compiler driver passes with every link, and whose effect the bitcode carries, are left out.
pub fn dropped<A: AsRef<[u8]>, F: AsRef<str>>(linker_argv: &[A], forwarded: &[F]) -> Vec<Dropped> {
    let argv: Vec<String> = linker_argv.iter().map(|arg| String::from_utf8_lossy(arg.as_ref()).into_owned()).collect();
    let forwarded: Vec<&str> = forwarded.iter().map(AsRef::as_ref).collect();
    let given = spelling::read(&argv);
    let link = mend::Link::new(&given, &forwarded);
    let mut found: Vec<Dropped> = Vec::new();
    for given in &given {
        let mend::Verdict::Dropped(arguments) = link.judge(given) else { continue };
        let arguments = arguments.unwrap_or_default();
        if !arguments.is_empty() && contains(&forwarded, &arguments) {
            continue;
        }
        let mend = (!arguments.is_empty()).then(|| mend_options(&arguments, given.style));
        let dropped = Dropped { option: given.text.clone(), mend, profile: given.profile().map(str::to_owned) };
        if !found.contains(&dropped) {
            found.push(dropped);
        }
    }
    found
}

/// One line for the user that names every dropped option and its mend; `None` when nothing was dropped.
pub fn line(dropped: &[Dropped]) -> Option<String> {
    if dropped.is_empty() {
        return None;
    }
    let named: Vec<String> = dropped
        .iter()
        .map(|dropped| match &dropped.mend {
            Some(mend) => format!("{} (mend: {mend})", dropped.option),
            None => format!("{} (cannot be mended)", dropped.option),
        })
        .collect();
    let line =
        format!("the linker keeps these options from ThinLTO backends that it distributes: {}", named.join("; "));
    // An argument may hold a line break; the user is promised one line.
    Some(line.chars().map(|char| if char.is_control() { ' ' } else { char }).collect())
}

/// Whether a profile is context-sensitive, by its first 16 bytes. `None`: not an indexed profile.
///
/// Bit 57 of the format's version says so (LLVM's `VARIANT_MASK_CSIR_PROF`).
pub fn is_context_sensitive(profile_start: &[u8]) -> Option<bool> {
    let version = profile_start.strip_prefix(b"\xfflprofi\x81")?.first_chunk()?;
    Some(u64::from_le_bytes(*version) & (1 << 57) != 0)
}

/// Whether `arguments` stand in `all`, one after the other.
fn contains(all: &[&str], arguments: &[String]) -> bool {
    all.windows(arguments.len()).any(|window| window.iter().zip(arguments).all(|(have, want)| have == want))
}

fn mend_options(arguments: &[String], style: spelling::Style) -> String {
    let prefix = match style {
        spelling::Style::Elf => "--thinlto-remote-compiler-arg=",
        spelling::Style::Coff => "/thinlto-remote-compiler-arg:",
    };
    arguments.iter().map(|argument| format!("{prefix}{argument}")).collect::<Vec<_>>().join(" ")
}
