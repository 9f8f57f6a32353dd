//! What the modules are compiled from, and how.

use super::harness::{expect_small_c, same_as_plain_distributor, same_everywhere, same_with};
use crate::support::{Language, Program, require, require_farm};

/// Templates, inline functions, a vtable, exceptions.
#[test]
fn cpp() {
    if require_farm() {
        assert_eq!(same_everywhere(&Program::small_cpp(&["-O2"])).output(), "9 4 1\n");
    }
}

/// What has linkage of its own kind: inline and thread-local variables, constructors with priorities, local classes,
/// lambdas, explicit instantiations, anonymous namespaces.
#[test]
fn cpp_linkages() {
    if !require_farm() {
        return;
    }
    let program = Program::new(Language::Cxx, &["-O2", "-std=c++20"]);
    program.folder.write("all.h", LINKAGES_H);
    let program = program
        .module("one.cpp", "#include \"all.h\"\ntemplate struct Box<long>;\nnamespace { int hidden = 3; }\nint one() { return hidden++ + shared++ + (int)Box<long>{4}.twice(); }\n")
        .module("two.cpp", "#include \"all.h\"\nnamespace { struct Early { Early() { shared += 100; } } early __attribute__((init_priority(200))); }\nint two() { return shared++ + ++own + once([](int x) { return x + 1; }); }\n")
        .module("main.cpp", "#include \"all.h\"\n#include <cstdio>\nint main() { int a = one(), b = two(); std::printf(\"%d %d %d %d\\n\", a, b, shared, own); }\n");
    assert_eq!(same_everywhere(&program).output(), "112 110 103 6\n");
}

const LINKAGES_H: &str = "#pragma once\n\
     inline int shared = 1;\n\
     inline thread_local int own = 5;\n\
     template <class T> struct Box { T value; T twice(); };\n\
     template <class T> T Box<T>::twice() { return value * 2; }\n\
     extern template struct Box<long>;\n\
     template <class F> int once(F f) { static int result = f(1); return result; }\n\
     int one(); int two();\n";

#[test]
fn each_level_of_optimisation() {
    if require_farm() && require(&["python3"]) {
        for level in ["-O1", "-O2", "-O3", "-Os"] {
            expect_small_c(&same_everywhere(&Program::small_c(&[level])));
        }
        expect_small_c(&same_as_plain_distributor(&Program::small_c(&["-O0"]), |link| link));
    }
}

#[test]
fn debug_information() {
    if require_farm() {
        expect_small_c(&same_everywhere(&Program::small_c(&["-O2", "-g"])));
        same_everywhere(&Program::small_cpp(&["-O1", "-g3", "-gdwarf-4", "-fdebug-types-section"]));
    }
}

#[test]
fn a_shared_library() {
    if require_farm() {
        same_with(&Program::small_cpp(&["-O2", "-fPIC", "-fvisibility=hidden"]), |link| link.argument("-shared"));
    }
}

/// For a link without position-independent code, the linker forwards nothing, and clang takes its default.
#[test]
fn a_static_program() {
    if require_farm() && require(&["python3"]) {
        let program = Program::small_c(&["-O2", "-static", "-fno-pie"]);
        expect_small_c(&same_as_plain_distributor(&program, |link| link));
    }
}

/// Everything that the driver or the linker forwards, or that the modules themselves carry.
#[test]
fn flags_of_code_generation() {
    if !require_farm() {
        return;
    }
    let flags: &[&[&str]] = &[
        &["-O2", "-march=x86-64-v3", "-fno-plt", "-fstack-protector-strong", "-fcf-protection"],
        &["-O2", "-ffunction-sections", "-fdata-sections", "-fno-unique-section-names"],
        &["-O2", "-mcmodel=medium", "-fno-semantic-interposition"],
        &["-O1", "-fsanitize=undefined", "-fsanitize-trap=all", "-funwind-tables"],
        &["-O2", "-fsplit-lto-unit", "-fvisibility=hidden"],
    ];
    for flags in flags {
        expect_small_c(&same_everywhere(&Program::small_c(flags)));
    }
}
