//! Objects as compilers make them now: a good one that is refused here would fail a user's link.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::*;

const SOURCE: &str = r#"
extern int imported(int);
int counter = 1, common, zero[1000];
static int hidden;
__thread int per_thread = 3;
__attribute__((weak)) int weakly(int a) { return imported(a) + counter; }
static int chosen(void) { return 1; }
static int (*choose(void))(void) { return chosen; }
__attribute__((constructor)) static void start(void) { hidden = 2; }
int aliased(int) __attribute__((alias("work")));
const char *strings[] = {"a", "b", "some longer string"};
int work(int a) { switch (a) { case 1: return 3; case 2: return imported(9); case 3: return 77; case 4: return zero[a]; }
    return weakly(a) * hidden++ + common + per_thread + choose()(); }
"#;

const DEFINED: Promised =
    Promised(&["counter", "common", "zero", "per_thread", "weakly", "work", "aliased", "strings"]);

/// A clang to compile with, and a folder to do it in. Without one the test is skipped, but not in CI.
struct Compiler {
    clang: String,
    folder: tempfile::TempDir,
}

impl Compiler {
    fn find() -> Option<Self> {
        let works =
            |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
        let Some(clang) = ["clang-22", "clang"].into_iter().find(works) else {
            assert!(std::env::var_os("CI").is_none(), "there is no clang, and CI must not skip tests");
            println!("skipped: there is no clang to compile objects with");
            return None;
        };
        Some(Self { clang: clang.to_owned(), folder: tempfile::tempdir().expect("a temporary folder") })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("a source file");
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(&self.clang).args(arguments).current_dir(&self.folder).output().expect("clang starts")
    }

    /// The object that clang makes; `None` when it lacks the target or an option.
    fn compile(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let output = self.run(&[arguments, &["-c", "-o", "object"]].concat());
        if !output.status.success() {
            println!("not compiled with {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        Some(fs::read(self.path("object")).expect("an object"))
    }
}

fn accept(object: &[u8], triple: &str, definitions: &Promised, source: &str, what: &dyn fmt::Debug) {
    let source_name = Some(source.as_bytes());
    let expected = Expected { target: Target::parse(triple), flags: None, source_name, definitions };
    assert_eq!(verify(object, &expected, b""), Ok(()), "{what:?}");
}

#[test]
fn objects_of_many_options_are_accepted() {
    let Some(compiler) = Compiler::find() else { return };
    compiler.write("good.c", SOURCE);
    let mut compiled = 0;
    for level in ["-O0", "-O2"] {
        for options in [
            &["-g"][..],
            &["-g", "-gz"],
            &["-g", "-gdwarf64"],
            &["-gdwarf-4", "-fdebug-types-section"],
            &["-g", "-gsplit-dwarf"],
            &["-fPIC", "-ffunction-sections", "-fdata-sections"],
            &["-g", "-fno-integrated-as"],
            &["-fcommon", "-fno-addrsig"],
            &["-fbasic-block-sections=all"],
            &["-fbasic-block-address-map", "-fstack-size-section"],
            &["-fprofile-generate"],
            &["-fsanitize=address"],
            &["-mcmodel=large"],
            &["-frecord-command-line", "-fpatchable-function-entry=3,1"],
        ] {
            let arguments = [&["--target=x86_64-unknown-linux-gnu", level, "good.c"], options].concat();
            let Some(object) = compiler.compile(&arguments) else { continue };
            accept(&object, "x86_64-unknown-linux-gnu", &DEFINED, "good.c", &arguments);
            compiled += 1;
        }
    }
    assert!(compiled > 20, "only {compiled} of the options compiled");
}

#[test]
fn objects_of_many_targets_are_accepted() {
    let Some(compiler) = Compiler::find() else { return };
    compiler.write("good.c", "extern int e(int); int g = 1; int f(int a) { return e(a) + g; }\n");
    let mut compiled = 0;
    for triple in [
        "x86_64-unknown-linux-gnu",
        "x86_64-linux-gnux32",
        "i386-unknown-linux-gnu",
        "i586-intel-elfiamcu",
        "aarch64-unknown-linux-gnu",
        "aarch64_be-linux-gnu",
        "aarch64-linux-gnu_ilp32",
        "aarch64-linux-android35",
        "armv7-linux-gnueabihf",
        "armeb-linux-gnueabi",
        "thumbv7-linux-gnueabihf",
        "thumbeb-linux-gnueabi",
        "arm-none-eabi",
        "riscv32-unknown-elf",
        "riscv64-linux-gnu",
        "mips-linux-gnu",
        "mipsel-linux-gnu",
        "mips64-linux-gnuabi64",
        "mips64el-linux-gnuabi64",
        "mips64el-linux-gnuabin32",
        "mipsisa32r6-linux-gnu",
        "powerpc-linux-gnu",
        "powerpcle-linux-gnu",
        "powerpc64-linux-gnu",
        "powerpc64le-linux-gnu",
        "s390x-linux-gnu",
        "sparc-linux-gnu",
        "sparcel-linux-gnu",
        "sparcv9-linux-gnu",
        "sparcv9-sun-solaris",
        "sparc-sun-solaris",
        "loongarch32-linux-gnu",
        "loongarch64-linux-gnu",
        "hexagon-linux-musl",
        "m68k-linux-gnu",
        "avr",
        "msp430-elf",
        "bpf",
        "bpfeb",
        "ve-linux-gnu",
        "lanai",
        "xtensa-unknown-elf",
        "amdgcn-amd-amdhsa",
        "amdgcn-mesa-mesa3d",
        "x86_64-unknown-freebsd",
        "armv7-unknown-freebsd-gnueabihf",
        "aarch64-unknown-openbsd",
        "x86_64-unknown-netbsd",
        "x86_64-pc-solaris2.11",
        "x86_64-unknown-hermit",
        "x86_64-unknown-fuchsia",
        "x86_64-scei-ps4",
        "x86_64-sie-ps5",
        "x86_64-pc-windows-elf",
        "x86_64-unknown-uefi",
        "x86_64-pc-windows-msvc",
        "i686-pc-windows-msvc",
        "aarch64-pc-windows-msvc",
        "arm64ec-pc-windows-msvc",
        "thumbv7-pc-windows-msvc",
        "x86_64-w64-mingw32",
        "i686-w64-mingw32",
        "x86_64-pc-cygwin",
        "mips-pc-windows",
        "mipsel-pc-windows-msvc",
        "x86_64-linux-ohos",
        "x86_64h-linux-gnu",
    ] {
        let target = format!("--target={triple}");
        let Some(object) = compiler.compile(&[&target, "-O1", "-g", "good.c"]) else { continue };
        assert_ne!(Target::parse(triple), Target::Unknown, "{triple}");
        accept(&object, triple, &Promised(&["f", "g"]), "good.c", &triple);
        compiled += 1;
    }
    assert!(compiled > 10, "only {compiled} of the targets compiled");
}

#[test]
fn more_sections_than_sixteen_bits_count_are_accepted() {
    let Some(compiler) = Compiler::find() else { return };
    let mut text = String::from(".globl last\n");
    for index in 0..66_000 {
        text.push_str(&format!(".section .text.f{index},\"ax\",@progbits\nf{index}: nop\n"));
    }
    text.push_str(".section .text.last,\"ax\",@progbits\nlast: nop\n.long f65990\n.globl f0, f65500, f65999\n");
    compiler.write("many.s", &text);
    let triple = "x86_64-unknown-linux-gnu";
    let Some(mut object) = compiler.compile(&["--target=x86_64-unknown-linux-gnu", "many.s"]) else { return };
    assert_eq!(object[60..62], [0, 0], "e_shnum no longer holds the number");
    let definitions = Promised(&["f0", "f65500", "f65999", "last"]);
    accept(&object, triple, &definitions, "", &"sections");
    for byte in [60, 61, 62, 63] {
        object[byte] ^= 1;
        let expected =
            Expected { target: Target::parse(triple), flags: None, source_name: None, definitions: &definitions };
        assert!(verify(&object, &expected, b"").is_err(), "byte {byte}");
        object[byte] ^= 1;
    }

    let text = text.replace(",@progbits", "").replace(",\"ax\"", ",\"xr\"");
    compiler.write("many.s", text);
    let Some(object) = compiler.compile(&["--target=x86_64-pc-windows-msvc", "many.s"]) else { return };
    assert_eq!(object[..4], [0, 0, 0xff, 0xff], "the form for many sections");
    accept(&object, "x86_64-pc-windows-msvc", &definitions, "", &"COFF sections");
}

#[test]
fn many_relocations_in_a_coff_section_are_accepted() {
    let Some(compiler) = Compiler::find() else { return };
    compiler.write("many.s", format!(".data\n.globl here\nhere:\n{}", ".quad there\n".repeat(70_000)));
    let triple = "x86_64-pc-windows-msvc";
    let Some(object) = compiler.compile(&["--target=x86_64-pc-windows-msvc", "many.s"]) else { return };
    accept(&object, triple, &Promised(&["here"]), "", &"COFF relocations");
}

#[test]
fn symbols_that_assembly_renames_are_no_fault() {
    let Some(compiler) = Compiler::find() else { return };
    compiler.write(
        "good.c",
        "int foo(int a) { return a; } int bar(int a) { return a + 1; }\n\
         __asm__(\".file \\\"other.s\\\"\\n.symver foo,foo@@@V1\\n.symver bar,elsewhere@V1,remove\");",
    );
    let triple = "x86_64-unknown-linux-gnu";
    let Some(object) = compiler.compile(&["--target=x86_64-unknown-linux-gnu", "-O1", "good.c"]) else { return };
    accept(&object, triple, &Promised(&["foo", "bar"]), "good.c", &"symver");
    let definitions = &Promised(&["foo", "bar", "a", "b", "c"]);
    let expected = Expected { target: Target::parse(triple), flags: None, source_name: None, definitions };
    assert_eq!(verify(&object, &expected, b""), Err(Flaw::MissingDefinitions { count: 5, guid: 0 }));
}

/// The failures themselves, as this clang makes them: exit status 0, and an object that must not be used.
#[test]
fn failed_backends_of_this_clang_are_refused() {
    let Some(compiler) = Compiler::find() else { return };
    let lld = compiler.clang.replace("clang", "ld.lld");
    compiler.write("a.c", "int b(int); int a(int x) { return b(x) + 1; }\n");
    compiler.write("b.c", "int b(int x) { return x * 3; }\n");
    for (source, module) in [("a.c", "a.o"), ("b.c", "b.o")] {
        assert!(compiler.run(&["-O2", "-flto=thin", "-c", source, "-o", module]).status.success());
    }
    let index = ["-r", "--thinlto-index-only", "a.o", "b.o", "-o", "none"];
    if !Command::new(&lld).args(index).current_dir(&compiler.folder).status().is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "there is no {lld}, and CI must not skip tests");
        println!("skipped: there is no {lld} to write a summary index with");
        return;
    }
    let backend = |module: &str, index: &str| {
        let _ = fs::remove_file(compiler.path("object"));
        let index = format!("-fthinlto-index={index}");
        let output = compiler.run(&["-O2", "-x", "ir", &index, "-c", module, "-o", "object"]);
        assert!(output.status.success(), "this clang reports the failure: {output:?}");
        let object = fs::read(compiler.path("object")).unwrap_or_default();
        let expected = Expected {
            target: Target::parse("x86_64-unknown-linux-gnu"),
            flags: None,
            source_name: Some(b"a.c"),
            definitions: &Promised(&["a"]),
        };
        (verify(&object, &expected, &output.stderr), verify(&object, &expected, b""))
    };
    if compiler.run(&["-dumpmachine"]).stdout.starts_with(b"x86_64") {
        assert_eq!(backend("a.o", "a.o.thinlto.bc"), (Ok(()), Ok(())));
    }
    fs::copy(compiler.path("a.o"), compiler.path("renamed.o")).expect("a copy");
    assert!(backend("renamed.o", "a.o.thinlto.bc").0.is_err(), "compiled under another name");
    compiler.write("garbage.bc", "not an index");
    spoiled(backend("a.o", "garbage.bc"));
    spoiled(backend("a.o", "absent.bc"));
    compiler.write("b.o", "");
    spoiled(backend("a.o", "a.o.thinlto.bc"));
    fs::remove_file(compiler.path("b.o")).expect("it was there");
    spoiled(backend("a.o", "a.o.thinlto.bc"));
}

/// Refused for its words, and refused without them.
fn spoiled((with_words, without): (Result<(), Flaw>, Result<(), Flaw>)) {
    assert!(matches!(with_words, Err(Flaw::BackendError { .. })), "{with_words:?}");
    assert_eq!(without, Err(Flaw::Empty));
}
