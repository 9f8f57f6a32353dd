//! Symbols of every kind: an object that defines them is not taken for a wrong one, here or there.

use super::harness::{same_everywhere, same_with};
use crate::support::{Language, Program, require_farm};

/// Aliases, weak and common symbols, an indirect function, labels in assembly, names that are not what the source says.
#[test]
fn symbols_of_every_kind() {
    if !require_farm() {
        return;
    }
    let program = Program::new(Language::C, &["-O2", "-fcommon"])
        .module("kinds.c", KINDS)
        .module("assembly.c", "__asm__(\".globl from_assembly\\n.type from_assembly,@function\\nfrom_assembly:\\n mov $7, %eax\\n ret\\n\");\nint unused_asm_user(void) { return 1; }\n")
        .module("main.c", USES);
    assert_eq!(same_everywhere(&program).output(), "1 2 3 4 5 6 7 8 9\n");
}

const KINDS: &str = "\
int first(void) { return 1; }\n\
int second_impl(int x) { return x; }\n\
int second(int) __attribute__((alias(\"second_impl\")));\n\
__attribute__((weak)) int third(void) { return 3; }\n\
int common[64];\n\
static int (*choose(void))(void);\n\
static int fifth_plain(void) { return 5; }\n\
int fifth(void) __attribute__((ifunc(\"choose\")));\n\
static int (*choose(void))(void) { return fifth_plain; }\n\
int sixth(void) __asm__(\"the.sixth\");\n\
int sixth(void) { return 6; }\n\
_Thread_local int eighth = 8;\n\
__attribute__((section(\"mine\"), used)) int kept = 9;\n\
int ninth(void) __asm__(\"na\\xc3\\xafve$9\");\n\
int ninth(void) { return kept; }\n\
__attribute__((noinline, cold)) int nobody_calls(void) { return 10; }\n";

const USES: &str = "#include <stdio.h>\n\
int first(void), second(int), fifth(void), from_assembly(void);\n\
__attribute__((weak)) int third(void) { return 30; }\n\
int common[64];\n\
int sixth(void) __asm__(\"the.sixth\");\n\
int ninth(void) __asm__(\"na\\xc3\\xafve$9\");\n\
extern _Thread_local int eighth;\n\
int main(void) { common[3] = 4; printf(\"%d %d %d %d %d %d %d %d %d\\n\", first(), second(2), third(), common[3], fifth(),\n\
  sixth(), from_assembly(), eighth, ninth()); return 0; }\n";

/// The linker renames, wraps and hides symbols, and drops what nobody needs.
#[test]
fn symbols_that_the_linker_changes() {
    if !require_farm() {
        return;
    }
    let program = Program::new(Language::C, &["-O2"])
        .module("one.c", "int add(int a) { return a + 1; }\nint dead(void) { return 2; }\nint seen(int a) { return add(a); }\n")
        .module("two.c", "int __real_add(int); int __wrap_add(int a) { return __real_add(a) * 10; }\n")
        .module("main.c", "#include <stdio.h>\nint add(int), seen(int), named(int);\nint main(void) { printf(\"%d %d %d\\n\", add(1), seen(1), named(2)); return 0; }\n");
    let linked = same_with(&program, |link| {
        ["--wrap=add", "--defsym=named=seen", "--gc-sections", "--icf=all", "--exclude-libs=ALL"]
            .iter()
            .fold(link, |link, option| link.argument(format!("-Wl,{option}")))
    });
    assert!(!linked.output().is_empty());
}

#[test]
fn versions_and_hidden_symbols_of_a_shared_library() {
    if !require_farm() {
        return;
    }
    let program = Program::new(Language::C, &["-O2", "-fPIC"])
        .module("old.c", "__asm__(\".symver get_old, get@ONE\");\n__attribute__((used)) int get_old(void) { return 1; }\n")
        .module("new.c", "__asm__(\".symver get_new, get@@TWO\");\n__attribute__((used)) int get_new(void) { return 2; }\nint inner(void) { return 3; }\n")
        .module("more.c", "int inner(void);\nint more(void) { return inner(); }\n");
    let script = program.folder.write("versions", "ONE { global: get; };\nTWO { global: get; more; local: *; };\n");
    same_with(&program, |link| {
        link.argument("-shared")
            .argument("-Wl,-soname=lib.so")
            .argument(format!("-Wl,--version-script={}", script.display()))
    });
}

/// Modules that define nothing that another one could see, or nothing at all.
#[test]
fn modules_without_symbols() {
    if !require_farm() {
        return;
    }
    let program = Program::small_c(&["-O2"])
        .module("nothing.c", "typedef int nothing;\n")
        .module("local.c", "static int nobody(void) { return 1; }\ntypedef int local;\n")
        .module("dead.c", "int dead(void) { return 1; }\n")
        .module(
            "constructor.c",
            "extern int started;\n__attribute__((constructor)) static void late(void) { started++; }\n",
        );
    let linked = same_everywhere(&program);
    assert!(linked.output().starts_with("42 5 2 "));
}

/// A relocatable link resolves nothing, so every symbol stays.
#[test]
fn a_relocatable_link() {
    if require_farm() {
        same_with(&Program::small_c(&["-O2"]), |link| link.argument("-r").argument("-nostdlib"));
    }
}
