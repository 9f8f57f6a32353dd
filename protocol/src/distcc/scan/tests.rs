//! What distccd 3.4 answers to these very command lines, except that a missing operand makes it read beyond the end.
//! `tests/distcc_stock` asks it about many more.

use super::*;

/// A command line in words, without the compiler.
fn scanned(words: &str) -> Result<Scan, Refusal> {
    let argv: Vec<_> =
        std::iter::once("cc").chain(words.split(' ').map(|word| if word == "''" { "" } else { word })).collect();
    scan(&argv)
}

#[test]
fn the_source_and_the_output_are_found() {
    let table = [
        ("-c a.c", 2, None),
        ("-S a.c", 2, None),
        ("-c a.c -o x", 2, Some(Output::Separate(4))),
        ("-c a.c -ox.o", 2, Some(Output::Joined(3))),
        ("-o x -S -c a.c", 5, Some(Output::Separate(2))),
        ("-c a.c -o b.c", 2, Some(Output::Separate(4))),
        ("-c a.c -o -E", 2, Some(Output::Separate(4))),
        ("-c a.c -o ''", 2, Some(Output::Separate(4))),
        ("-c a.c -o -fplugin=x", 2, Some(Output::Separate(4))),
        ("-c .c -o x", 2, Some(Output::Separate(4))),
        ("-c a.c -MT x.o", 2, None),
        ("-MF -c -c a.c", 4, None),
        ("-c -xir ca.c", 3, None),
        ("-x cfoo.c -c", 2, None),
        ("@job.rsp -c -L m.o.c -o m.o", 4, Some(Output::Separate(6))),
        ("-c --language=ir m1.c -fthinlto-index=s.bc -o m1.o", 3, Some(Output::Separate(6))),
    ];
    for (words, source, output) in table {
        assert_eq!(scanned(words), Ok(Scan { source, output }), "{words}");
    }
    for suffix in ["i", "ii", "c", "cc", "cpp", "cxx", "cp", "c++", "C", "m", "mm", "mi", "mii", "M"] {
        assert!(scanned(&format!("-c a.{suffix}")).is_ok(), "{suffix}");
    }
}

#[test]
#[rustfmt::skip]
fn options_that_only_look_dangerous_are_accepted() {
    for option in [
        "-Ex", "-MD", "-MMD", "-MG", "-MP", "-MFx", "-MTx", "-MQx", "-march=nativex", "-mcpu=native", "-flto=thin",
        "-specs", "--specs=x", "-fprofile-arcsx", "-fprofile-sample-use=x", "-fprofile-instr-use=x", "--coveragex",
        "-frepox", "-d", "-dM", "-Wa,x", "-Wa,x-a", "-Wa", "-Wl,-a", "-fplugin", "-fplugin-arg-x", "-x", "-x c++",
        "-x golang", "-x objective-c++", "-xx c", "-Ifoo.c", "@x", "-", "--", "''", "foo.x", "x.o/", "/dev/null",
    ] {
        assert!(scanned(&format!("-c a.c {option}")).is_ok(), "{option}: {:?}", scanned(&format!("-c a.c {option}")));
    }
}

#[test]
#[rustfmt::skip]
fn refusals_name_the_rule() {
    let table = [
        ("a.c", Reason::NotCompiling),
        ("-o -c a.c", Reason::NotCompiling),
        ("-c", Reason::NoSource),
        ("-c a.s", Reason::NoSource),
        ("-c a.CC", Reason::NoSource),
        ("-c a.", Reason::NoSource),
        ("-c a.c/b", Reason::NoSource),
        ("-c a.c.o", Reason::NoSource),
        ("-c a.c b.c", Reason::SecondSource),
        ("-c a.c -L b.c", Reason::SecondSource),
        ("-c x/.c", Reason::UnnamedSource),
        ("-c conftest.c", Reason::ConfigureTest),
        ("-c /x/tmp.conftest.c", Reason::ConfigureTest),
        ("-c a.c -o x -o y", Reason::SecondOutput),
        ("-c a.c -o x.o y.o", Reason::SecondOutput),
        ("-c a.c @x.o -o y", Reason::SecondOutput),
        ("-c a.c x.o", Reason::OutputWithoutOption),
        ("-c a.c -o -", Reason::OutputToStdout),
        ("-c a.c -o-", Reason::OutputToStdout),
        ("-c a.c -o", Reason::MissingOperand),
        ("-c a.c -MF", Reason::MissingOperand),
        ("-c a.c -x ir", Reason::UnknownLanguage),
        ("-c -xir a.c", Reason::UnknownLanguage),
        ("-c a.c -x ''", Reason::UnknownLanguage),
        ("-c a.c -fplugin=x", Reason::LoadsCode),
        ("-c a.c -MF -specs=x", Reason::LoadsCode),
    ];
    for (words, reason) in table {
        assert_eq!(scanned(words).unwrap_err().reason, reason, "{words}");
    }
    for option in [
        "-E", "-M", "-MM", "-MX", "-MDx", "-MMDx", "-MGx", "-MPx", "-march=native", "-mtune=native", "-flto", "-specs=x",
        "-Wa,-al", "-Wa,x,-a", "-Wa,x--MD", "-fprofile-arcs", "-ftest-coverage", "--coverage", "-fprofile-generate",
        "-fprofile-generate=x", "-fprofile-use=x", "-fauto-profilex", "-fprofile-correction", "-frepo", "-dr", "-drx",
    ] {
        let refusal = scanned(&format!("-c a.c {option}")).unwrap_err();
        assert_eq!(refusal.reason, Reason::MustBeLocal, "{option}");
        assert_eq!(refusal.to_string(), format!("argument 3 {option:?} must run locally"));
    }
}

#[test]
fn the_compiler_is_the_first_argument() {
    let reason = |argv: &[&str]| scan(argv).unwrap_err().reason;
    assert_eq!(reason(&[]), Reason::NoCompiler);
    assert_eq!(reason(&["", "-c", "a.c"]), Reason::NoCompiler);
    assert_eq!(reason(&["-c", "a.c"]), Reason::NoCompiler);
    assert_eq!(reason(&["cc.c", "-c", "a.c"]), Reason::SecondSource);
}

#[test]
fn only_plain_names_and_those_in_system_folders_can_be_allowed() {
    let name = |compiler: &'static str| allowed_compiler_name(compiler.as_bytes());
    for compiler in ["clang-22", "/usr/bin/clang-22", "/bin/clang-22", "/USR/bin/clang-22"] {
        assert_eq!(name(compiler), Some(&b"clang-22"[..]), "{compiler}");
    }
    for compiler in ["", "/usr/bin/", "/usr/lib/llvm-22/bin/clang", "./clang", "/usr/bin/../x", "usr/bin/clang"] {
        assert_eq!(name(compiler), None, "{compiler}");
    }
}
