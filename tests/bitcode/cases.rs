//! The programs.

use super::harness::{CLANG, LLD, LLD_LINK, Program, check, check_as_in_process, have};

const MAIN_C: &str = "int one(int); int main(void) { return one(3); }";
const ONE_C: &str = "int two(int);\n\
    static int kept; static int state(int x) { return kept += x; }\n\
    int (*hook)(int) = state;\n\
    int one(int x) { return two(x) + hook(x); }";
const TWO_C: &str = "static int table[64]; static int twice(int x) { table[x & 63]++; return 2 * x + table[x & 7]; }\n\
    int two(int x) { return twice(x) * 3; }\n\
    __attribute__((noinline)) int three(int x) { return twice(x) + 1; }";

#[test]
fn c_with_promoted_statics() {
    if !have(&[CLANG, LLD]) {
        return;
    }
    let link =
        Program { sources: &[("main.c", MAIN_C), ("sub/one.c", ONE_C), ("two.c", TWO_C)], ..Default::default() }.link();
    assert_eq!(link.jobs.len(), 3);
    assert!(link.jobs.iter().all(|job| !job.resolved.damaged()));
    check_as_in_process(&link);
}

#[test]
fn names_of_every_kind() {
    if !have(&[CLANG, LLD, "llvm-ar-22"]) {
        return;
    }
    let sources = [("main.c", MAIN_C), ("b b/one (1).c", ONE_C), ("q'\"\\/-two.c", TWO_C)];
    let operands = ["./b b/../main.o", "{}/b b/one (1).o", "q'\"\\/-two.o"];
    check_as_in_process(&Program { sources: &sources, operands: &operands, ..Default::default() }.link());
    let archives = [("rcs", "lib x.a", ["b b/one (1).o", "q'\"\\/-two.o"].as_slice())];
    let operands = ["main.o", "lib x.a"];
    check_as_in_process(
        &Program { sources: &sources, operands: &operands, archives: &archives, ..Default::default() }.link(),
    );
    let archives = [("rcsT", "thin.a", ["b b/one (1).o", "q'\"\\/-two.o"].as_slice())];
    let operands = ["main.o", "thin.a"];
    check_as_in_process(
        &Program { sources: &sources, operands: &operands, archives: &archives, ..Default::default() }.link(),
    );
}

/// The linker's writer damages these names, and the hashes after them: differently in each shard.
#[test]
fn names_beyond_ascii() {
    if !have(&[CLANG, LLD]) {
        return;
    }
    for folder in ["ü", "aü", "abü", "abcü", "Büro-研究", "日本語/フォルダ", "naïve café"] {
        let names = [format!("{folder}/main.c"), format!("{folder}/ö/one.c"), format!("{folder}/zwö.c")];
        let texts = [MAIN_C, ONE_C, TWO_C];
        let sources: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts).collect();
        check_as_in_process(&Program { sources: &sources, ..Default::default() }.link());
    }
}

/// Names of one length and one beginning: only their order tells them apart. And names that end in the damage.
#[test]
fn names_beyond_ascii_that_look_alike() {
    if !have(&[CLANG, LLD]) {
        return;
    }
    let sources = [("ü.c", MAIN_C), ("ö.c", ONE_C), ("ä.c", TWO_C)];
    check_as_in_process(&Program { sources: &sources, ..Default::default() }.link());
    let sources = [("1.c", MAIN_C), ("22.c", ONE_C), ("333.c", TWO_C)];
    for ends in [["ü", "ö", "ä"], ["aü", "bbö", "cccä"], ["研", "究", "ö"], ["x研", "xx究", "xxxö"]] {
        let program = Program { sources: &sources, ..Default::default() };
        check_as_in_process(&program.link_renamed(&ends));
    }
}

#[test]
fn cxx() {
    if !have(&[CLANG, LLD]) {
        return;
    }
    let header = r#"
        #pragma once
        struct Base { Base(); virtual ~Base(); virtual int go(int); static int count; };
        template <class T> struct Box { T t; Box(T t) : t(t) {} virtual T get() { static T calls; return t + ++calls; } };
        inline int shared(int x) { static int seen = x; thread_local int mine = x; return seen + mine++; }
        template <class T> T grow(T t) { return t * 2 + shared(1); }
        extern template struct Box<long>;
        namespace { struct Local { Local(); ~Local(); int x; }; }
    "#;
    let main = r#"
        #include "all.h"
        int other(int); extern thread_local int tls; extern "C" int weak_one(int);
        int main(int argc, char **) { Base b; Box<int> i(argc); Box<long> l(4); tls++;
            return b.go(3) + i.get() + l.get() + grow(argc) + other(argc) + weak_one(1); }
    "#;
    let base = r#"
        #include "all.h"
        Base::Base() { count++; } Base::~Base() { count--; } int Base::go(int x) { return shared(x) + grow(x); }
        int Base::count; template struct Box<long>; thread_local int tls = Base::count + 4;
        static int hidden(int x) { return x * 7 + Base::count; }
        int exported(int x) __attribute__((alias("_ZL6hiddeni")));
        int tentative; inline int unused_inline() { return 4; } int nobody_calls() { return unused_inline(); }
    "#;
    let other = r#"
        #include "all.h"
        Local::Local() : x(shared(2)) {} Local::~Local() { x = 0; }
        static Local global; int exported(int);
        static int recursive(int x) { return x < 2 ? x : recursive(x - 1) + recursive(x - 2); }
        int other(int x) { Box<int> b(x); return b.get() + global.x + exported(x) + recursive(x); }
        extern "C" __attribute__((weak)) int weak_one(int x) { return x; }
        extern "C" { int real(int x) { return x; } int asm_name(int) __attribute__((weak, alias("real"))); }
        __attribute__((used)) static int used_static(int x) { return x; }
        __attribute__((constructor)) static void early() { Base::count = 5; }
    "#;
    let sources = [("main.cc", main), ("base.cc", base), ("d/other.cc", other)];
    let with_header: Vec<(String, String)> =
        sources.iter().map(|(name, text)| ((*name).to_owned(), text.replace("#include \"all.h\"", header))).collect();
    let sources: Vec<(&str, &str)> = with_header.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let instrumented = ["-fsanitize=address", "-fprofile-generate"];
    let whole_program = ["-fwhole-program-vtables", "-fvisibility=hidden"];
    let control_flow = ["-fsanitize=cfi-icall", "-fno-sanitize-ignorelist"];
    for flags in [&["-O2"][..], &["-O0"], &["-O3", "-g", "-fPIC"], &instrumented, &whole_program, &control_flow] {
        check(&Program { sources: &sources, flags, ..Default::default() }.link());
    }
    check(
        &Program {
            sources: &sources,
            link_flags: &["-no-pie", "-shared", "-Bsymbolic"],
            flags: &["-fPIC"],
            ..Default::default()
        }
        .link(),
    );
}

/// Definitions of all the kinds that an object may hold in another way than C writes them.
#[test]
fn odd_definitions() {
    if !have(&[CLANG, LLD]) {
        return;
    }
    let odd = r#"
        int common_one; int big_common[4096]; __thread int tls_one = 3; static __thread int tls_static;
        const int constant = 7; struct empty {} nothing; int holder[4]; int *address = &holder[2];
        int labelled(int) __asm__("another$name"); int labelled(int x) { return x + tls_static++; }
        int data_label __asm__("data.label.1") = 5;
        static int impl_a(int x) { return x; } static int impl_b(int x) { return x + 1; }
        static int (*choose(void))(int) { return __builtin_cpu_supports("avx2") ? impl_a : impl_b; }
        int chosen(int) __attribute__((ifunc("choose")));
        __attribute__((weak)) int weak_variable = 4; __attribute__((visibility("hidden"))) int hidden_function(int x) { return x * 5; }
        __asm__(".globl from_asm\nfrom_asm: ret\n.symver hidden_function, hidden_function@V1\n");
        void from_asm(void); __attribute__((section("my section"))) int in_section = 3;
        __attribute__((used, section("s2"))) static int used_in_section = 3; static int dropped(int x) { return x; }
        int with_dots(int) __asm__("with.dots.in.it@it"); int with_dots(int x) { return x; }
        static int promoted(int) __asm__("promoted.name.7"); __attribute__((noinline)) static int promoted(int x) { return x * common_one; }
        int caller(int x) { from_asm(); return promoted(x) + chosen(x) + labelled(x) + tls_one + weak_variable + in_section + data_label; }
        __attribute__((target_clones("avx2,default"))) int cloned(int x) { return x * 11; }
        int naked_cloned(int x) { return cloned(x); }
        extern inline __attribute__((gnu_inline)) int gnu(int x) { return x; } int takes(int (*f)(int)); int uses_gnu(void) { return takes(gnu); }
    "#;
    let main = "int caller(int); int naked_cloned(int); int uses_gnu(void); int common_one; extern __thread int tls_one;\n\
        int takes(int (*f)(int)) { return f(1); } int gnu(int x) { return x; } int common_two;\n\
        int main(void) { return caller(4) + common_one + tls_one + naked_cloned(2) + uses_gnu(); }";
    for flags in [&["-O2"][..], &["-O0"], &["-g"], &["-femulated-tls"], &["-O3", "-fPIC"]] {
        let flags = [flags, &["-fcommon"]].concat();
        check(&Program { sources: &[("main.c", main), ("odd.c", odd)], flags: &flags, ..Default::default() }.link());
    }
}

/// Windows: other decorations of names, and another linker.
#[test]
fn coff() {
    if !have(&[CLANG, LLD_LINK]) {
        return;
    }
    let main = r#"
        extern "C" int one(int); struct B { virtual ~B(); virtual int f(int); };
        template <class T> struct X { T t; __declspec(noinline) T g() { static T n; return n += t; } };
        extern "C" int __stdcall sc(int); extern "C" int __fastcall fc(int, int); extern "C" int __vectorcall vc(int);
        B::~B() {} int B::f(int x) { return x + X<int>{x}.g(); }
        extern "C" int entry() { B b; return b.f(one(3)) + X<int>{1}.g() + sc(1) + fc(1, 2) + vc(3); }
    "#;
    let one = r#"
        static int kept; static __declspec(noinline) int state(int x) { return kept += x; }
        extern "C" { int (*hook)(int) = state; int one(int x) { return hook(x) + state(x); } }
        extern "C" int __stdcall sc(int x) { return state(x); }
        extern "C" int __fastcall fc(int a, int b) { return state(a + b); }
        extern "C" int __vectorcall vc(int a) { return state(a); }
        __declspec(dllexport) int exported(int x) { return one(x); } extern "C" __declspec(selectany) int any = 4;
    "#;
    let sources = [("main.cc", main), ("sub folder/one.cc", one)];
    for target in ["--target=x86_64-pc-windows-msvc", "--target=i686-pc-windows-msvc"] {
        check(&Program { sources: &sources, flags: &[target], coff: true, ..Default::default() }.link());
    }
}

#[test]
fn rust_with_c() {
    if !have(&[CLANG, LLD, "rustc"]) {
        return;
    }
    let library = r#"
        #![no_std]
        #![allow(missing_docs)]
        static TABLE: [core::sync::atomic::AtomicU32; 4] = [const { core::sync::atomic::AtomicU32::new(1) }; 4];
        #[inline(never)] fn helper(x: u32) -> u32 { TABLE[(x & 3) as usize].fetch_add(x, core::sync::atomic::Ordering::Relaxed) }
        #[unsafe(no_mangle)] pub extern "C" fn one(x: u32) -> u32 { helper(x).wrapping_mul(3) ^ unsafe { two(x) } }
        pub fn mangled(x: u32) -> u32 { helper(x) }
        unsafe extern "C" { fn two(x: u32) -> u32; }
    "#;
    check_as_in_process(
        &Program { sources: &[("main.c", MAIN_C), ("lib.rs", library), ("two.c", TWO_C)], ..Default::default() }.link(),
    );
}
