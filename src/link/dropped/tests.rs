use super::*;

const X86: &[&str] = &["-c", "--target=x86_64-unknown-linux-gnu", "-O2", "-fpic"];

fn given(arguments: &[&str]) -> Vec<Dropped> {
    dropped(&[&["/usr/bin/ld.lld-22"], arguments].concat(), X86)
}

/// Option and mend of each, shortened: a mend's arguments without their prefix.
fn short(dropped: &[Dropped]) -> Vec<(String, String)> {
    let arguments = |mend: &String| mend.replace("--thinlto-remote-compiler-arg=", "");
    dropped.iter().map(|d| (d.option.clone(), d.mend.as_ref().map(arguments).unwrap_or_default())).collect()
}

fn check(arguments: &[&str], expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|&(option, mend)| (option.to_owned(), mend.to_owned())).collect();
    assert_eq!(short(&given(arguments)), expected, "{arguments:?}");
}

#[test]
fn ordinary_links_have_nothing_to_mend() {
    // As clang 22 and rustc call the linker for C, C++ and Rust, at every level, with -g, PIE, -march=native and so on.
    for line in [
        "-pie -z relro --hash-style=gnu --eh-frame-hdr -m elf_x86_64 -dynamic-linker /lib64/ld.so -o b Scrt1.o -L/usr/lib \
         -plugin LLVMgold.so -plugin-opt=mcpu=x86-64 -plugin-opt=O2 -plugin-opt=thinlto b.o -lstdc++ -lm --as-needed -lgcc_s",
        "-plugin-opt=mcpu=znver4 -plugin-opt=O0 -plugin-opt=thinlto -plugin-opt=jobs=3",
        "-plugin-opt=mcpu=x86-64 -plugin-opt=thinlto -plugin-opt=-function-sections=1 -plugin-opt=-data-sections=1",
        "-plugin-opt=-function-sections=0 -plugin-opt=-data-sections=0 -plugin-opt=-crash-diagnostics-dir=x",
        "-plugin-opt=O3 -plugin-opt=mcpu=x86-64 --gc-sections --strip-debug -O1 --threads=2",
        "-plugin liblto_plugin.so -plugin-opt=/usr/lib/lto-wrapper -plugin-opt=-fresolution=x.res -plugin-opt=-pass-through=-lgcc",
        "--lto-O2 --lto-partitions=4 --thinlto-jobs=all --thinlto-cache-dir=c --lto-sample-profile=p --save-temps",
        "--lto-whole-program-visibility --lto-validate-all-vtables-have-type-infos --disable-verify --no-lto-pgo-warn-mismatch",
        "--lto-basic-block-sections=none --no-lto-basic-block-address-map --lto-CGO2",
        "-mllvm -import-instr-limit=20 -mllvm -stats -plugin-opt=-pass-remarks=inline --time-trace",
        "--thinlto-distributor=/usr/bin/thinbridge --thinlto-distributor-arg=--hosts=a --thinlto-remote-compiler=/usr/bin/clang-22",
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        check(&arguments, &[]);
        assert_eq!(super::line(&given(&arguments)), None);
    }
    assert_eq!(dropped::<&str, &str>(&[], &[]), []);
}

#[test]
fn defaults_of_a_target_are_not_dropped() {
    let passed = ["ld.lld", "-plugin-opt=-enable-tlsdesc", "-plugin-opt=-emulated-tls"];
    for (triple, count) in [
        ("x86_64-unknown-linux-gnu", 2),
        ("aarch64-unknown-linux-gnu", 1),
        ("aarch64-unknown-linux-android21", 0),
        ("aarch64-unknown-linux-android34", 1),
        ("armv7-unknown-linux-androideabi21", 1),
        ("riscv64-unknown-linux-android35", 1),
        ("x86_64-unknown-fuchsia", 1),
        ("x86_64-unknown-openbsd7.4", 1),
        ("x86_64-unknown-linux-ohos", 1),
    ] {
        assert_eq!(dropped(&passed, &[format!("--target={triple}")]).len(), count, "{triple}");
    }
}

#[test]
fn options_of_llvm_in_every_spelling() {
    let mend = "-mllvm -inline-threshold=5";
    check(&["-mllvm", "-inline-threshold=5"], &[("-mllvm -inline-threshold=5", mend)]);
    check(&["--mllvm", "-inline-threshold=5"], &[("--mllvm -inline-threshold=5", mend)]);
    check(&["-mllvm=-inline-threshold=5"], &[("-mllvm=-inline-threshold=5", mend)]);
    check(&["-plugin-opt=-inline-threshold=5"], &[("-plugin-opt=-inline-threshold=5", mend)]);
    check(&["--plugin-opt=-inline-threshold=5"], &[("--plugin-opt=-inline-threshold=5", mend)]);
    let two = "-mllvm --inline-threshold=5";
    check(&["-mllvm", "--inline-threshold=5"], &[("-mllvm --inline-threshold=5", two)]);
    // All of them count, and one that is given twice is named once.
    check(
        &["-mllvm", "-a", "-mllvm", "-b=1", "-mllvm", "-a"],
        &[("-mllvm -a", "-mllvm -a"), ("-mllvm -b=1", "-mllvm -b=1")],
    );
    check(&["-mllvm"], &[]);
}

#[test]
fn every_kind_with_its_mend() {
    // Each mend was seen to make the program of in-process ThinLTO (ld.lld and clang 22).
    for (arguments, mend) in [
        (&["--lto-basic-block-sections=all"][..], "-fbasic-block-sections=all"),
        (&["--lto-basic-block-sections=blocks.txt"], "-fbasic-block-sections=list=blocks.txt"),
        (&["--lto-basic-block-address-map"], "-fbasic-block-address-map"),
        (&["--lto-unique-basic-block-section-names"], "-funique-basic-block-section-names"),
        (&["--lto-cs-profile-generate"], "-fcs-profile-generate"),
        (&["-plugin-opt=cs-profile-generate"], "-fcs-profile-generate"),
        (&["--lto-cs-profile-file=x.profdata"], "-fprofile-use=x.profdata"),
        (&["-plugin-opt=cs-profile-path=x.profdata"], "-fprofile-use=x.profdata"),
        (&["--load-pass-plugin=p.so"], "-fpass-plugin=p.so"),
        (&["--load-pass-plugin", "p.so"], "-fpass-plugin=p.so"),
        (&["--lto-debug-pass-manager"], "-Xclang -fdebug-pass-manager"),
        (&["-plugin-opt=-vector-library=LIBMVEC"], "-fveclib=libmvec"),
        (&["-plugin-opt=-vector-library=SVML"], "-fveclib=SVML"),
        (&["-plugin-opt=-stack-size-section"], "-fstack-size-section"),
        (&["-plugin-opt=-split-machine-functions"], "-fsplit-machine-functions"),
        (&["-plugin-opt=-emulated-tls"], "-femulated-tls"),
        (&["-plugin-opt=-enable-tlsdesc"], "-mtls-dialect=gnu2"),
        (&["-plugin-opt=-enable-jmc-instrument"], "-fjmc -g"),
        (&["-plugin-opt=-debugger-tune=lldb"], "-glldb"),
        (&["-plugin-opt=-global-isel=1"], "-mllvm -global-isel=1"),
        (&["-mllvm", "-code-model=large"], "-mcmodel=large"),
        (&["-mllvm", "-align-loops=64"], "-falign-loops=64"),
        (&["-mllvm", "-nozero-initialized-in-bss"], "-fno-zero-initialized-in-bss"),
        (&["-mllvm", "-use-ctors"], "-fno-use-init-array"),
        (&["-mllvm", "-force-dwarf-frame-section"], "-fforce-dwarf-frame"),
        (&["-mllvm", "-basic-block-sections=all"], "-fbasic-block-sections=all"),
        (&["-mllvm", "-dwarf64"], "-gdwarf64"),
        (&["-mllvm", "-mc-relax-all"], "-mrelax-all"),
        (&["-mllvm", "-unique-section-names=0"], "-fno-unique-section-names"),
        (&["-mllvm", "-exception-model=sjlj"], "-fsjlj-exceptions"),
    ] {
        check(arguments, &[(&arguments.join(" "), mend)]);
    }
}

#[test]
fn what_cannot_be_mended_is_named() {
    for arguments in [
        &["--lto-emit-asm"][..],
        &["-plugin-opt=emit-asm"],
        &["--lto-emit-llvm"],
        &["--plugin-opt=emit-llvm"],
        &["--lto-CGO3"],
        &["--lto-newpm-passes=instcombine"],
        &["--lto-aa-pipeline=basic-aa"],
        &["--opt-remarks-filename", "r.yaml"],
        &["-plugin-opt=opt-remarks-filename=r.yaml"],
        &["--opt-remarks-hotness-threshold=5"],
        &["-plugin-opt=dwo_dir=b-dwo"],
        &["-mllvm", "-tailcallopt"],
        &["-mllvm", "-thread-model=single"],
    ] {
        check(arguments, &[(&arguments.join(" "), "")]);
    }
}

#[test]
fn dashes_count_as_they_do_for_the_linker() {
    // With one dash these are libraries: `-l to-emit-asm`.
    check(&["-lto-emit-asm", "-lto-CGO3", "-load-pass-plugin=x"], &[]);
    // Without their `=` these are errors of the linker's own.
    check(&["--lto-basic-block-sections", "all", "--plugin-opt", "emit-asm"], &[]);
}

#[test]
fn a_value_is_no_option() {
    check(&["-o", "--lto-emit-asm", "-rpath", "-mllvm", "-L", "-mllvm", "--soname", "--lto-emit-llvm"], &[]);
    check(&["--thinlto-remote-compiler-arg", "-mllvm", "--thinlto-remote-compiler-arg", "-x"], &[]);
    check(&["-omain", "--lto-emit-asm"], &[("--lto-emit-asm", "")]);
}

#[test]
fn the_last_of_a_setting_counts() {
    check(&["--lto-basic-block-address-map", "--no-lto-basic-block-address-map"], &[]);
    check(&["--lto-basic-block-sections=all", "--lto-basic-block-sections=none"], &[]);
    check(&["--lto-CGO3", "--lto-CGO2"], &[]);
    check(&["--lto-CGO3", "-plugin-opt=O3"], &[]);
    check(&["--lto-CGO2", "--lto-O3"], &[("--lto-CGO2", "")]);
}

#[test]
fn what_is_forwarded_already_is_not_dropped() {
    let forwarded =
        ["--target=x86_64-unknown-linux-gnu", "-mllvm", "-inline-threshold=5", "-fbasic-block-sections=all"];
    let argv = ["ld.lld", "-mllvm", "-inline-threshold=5", "--lto-basic-block-sections=all", "-mllvm", "-other"];
    let found = dropped(&argv, &forwarded);
    assert_eq!(short(&found), [("-mllvm -other".to_owned(), "-mllvm -other".to_owned())]);
}

#[test]
fn instrumentation_takes_its_folder_along() {
    let argv = ["--lto-cs-profile-generate", "--lto-cs-profile-file=dir/default_%m.profraw"];
    check(&argv, &[("--lto-cs-profile-generate", "-fcs-profile-generate=dir")]);
    let argv = ["-plugin-opt=cs-profile-generate", "-plugin-opt=cs-profile-path=default_%m.profraw"];
    check(&argv, &[("-plugin-opt=cs-profile-generate", "-fcs-profile-generate")]);
}

#[test]
fn profiles_tell_whether_they_are_context_sensitive() {
    let found = given(&["-plugin-opt=cs-profile-path=x.profdata"]);
    assert_eq!(found[0].profile.as_deref(), Some("x.profdata"));
    // First bytes of `llvm-profdata-22 merge` of a text profile with `:ir`, with `:csir`, and of the front end's kind.
    assert_eq!(is_context_sensitive(b"\xfflprofi\x81\x0d\0\0\0\0\0\0\x01"), Some(false));
    assert_eq!(is_context_sensitive(b"\xfflprofi\x81\x0d\0\0\0\0\0\0\x03"), Some(true));
    assert_eq!(is_context_sensitive(b"\xfflprofi\x81\x0d\0\0\0\0\0\0\0more"), Some(false));
    assert_eq!(is_context_sensitive(b"\xfflprofi\x81\x0d"), None);
    assert_eq!(is_context_sensitive(b":csir\n"), None);
}

#[test]
fn lld_link_has_its_own_spellings() {
    let coff = |argv: &[&str]| dropped(argv, &["--target=x86_64-pc-windows-msvc"]);
    let found = coff(&[
        "/usr/bin/lld-link-22",
        "/MLLVM:-inline-threshold=5",
        "-mllvm:-other",
        "/opt:ref,lldltocgo=3,lldlto=2",
        "/lldemit:asm",
        "/out:a.exe",
        "/dwodir:d",
        "a.obj",
    ]);
    let prefix = "/thinlto-remote-compiler-arg:";
    let expected = [
        ("/MLLVM:-inline-threshold=5", Some(format!("{prefix}-mllvm {prefix}-inline-threshold=5"))),
        ("-mllvm:-other", Some(format!("{prefix}-mllvm {prefix}-other"))),
        ("/opt:ref,lldltocgo=3,lldlto=2", None),
        ("/lldemit:asm", None),
        ("/dwodir:d", None),
    ];
    let found: Vec<_> = found.iter().map(|dropped| (dropped.option.as_str(), dropped.mend.clone())).collect();
    assert_eq!(found, expected);
    assert_eq!(coff(&["rust-lld", "-flavor", "link", "/opt:lldlto=3,lldltocgo=3,icf", "/lto-sample-profile:p"]), []);
    assert_eq!(coff(&["rust-lld", "-flavor", "link", "/lto-cs-profile-generate"]).len(), 1);
    assert_eq!(coff(&["ld.lld", "-m", "i386pep", "-Xlink=/mllvm:-other"])[0].option, "-Xlink=/mllvm:-other");
    // ld.lld takes these for files.
    assert_eq!(coff(&["ld.lld", "/mllvm:-other"]), []);
}

#[test]
fn one_line_names_them_all() {
    let found = given(&["-mllvm", "-inline-threshold=5", "--lto-emit-asm", "--lto-newpm-passes=a\nb"]);
    let line = line(&found).expect("three are dropped");
    assert!(!line.contains('\n'), "{line}");
    for part in [
        "-mllvm -inline-threshold=5 (mend: --thinlto-remote-compiler-arg=-mllvm --thinlto-remote-compiler-arg=-inline-threshold=5)",
        "--lto-emit-asm (cannot be mended)",
        "--lto-newpm-passes=a b (cannot be mended)",
    ] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let argv: [&[u8]; 5] = [b"ld.lld", b"-mllvm", b"-\xff=1", b"\xff\xfe", b"-"];
    assert_eq!(dropped(&argv, X86).len(), 1);
}
