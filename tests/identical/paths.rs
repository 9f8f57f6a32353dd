//! However the modules are named, and wherever they lie.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::{expect_small_c, same_everywhere, same_with, small_c_named};
use crate::support::{Language, Linked, Program, require_farm, run};

#[test]
fn relative_paths() {
    if require_farm() {
        expect_small_c(&same_everywhere(&small_c_named(["main.c", "lib/twice.c", "lib/deep/add.c", "start.c"])));
    }
}

#[test]
fn absolute_paths() {
    if require_farm() {
        let program = small_c_named(["main.c", "lib/twice.c", "lib/add.c", "start.c"]);
        expect_small_c(&same_everywhere(&program.spelled(|folder, input| folder.join(input))));
    }
}

#[test]
fn paths_above_the_folder_of_the_link() {
    if require_farm() {
        let program = small_c_named(["main.c", "lib/twice.c", "work/add.c", "start.c"]);
        std::fs::create_dir(program.folder.join("work/here")).expect("a new folder");
        let program = program.spelled(|_, input| Path::new("../..").join(input));
        expect_small_c(&same_with(&program, |link| link.run_in("work/here")));
    }
}

/// No host has the folders that such a path leads through.
#[test]
fn paths_through_a_folder_and_back() {
    if require_farm() {
        let program = small_c_named(["main.c", "lib/twice.c", "lib/add.c", "start.c"]);
        std::fs::create_dir(program.folder.join("lib/empty")).expect("a new folder");
        expect_small_c(&same_everywhere(&program.spelled(|_, input| Path::new("lib/empty/../..").join(input))));
    }
}

/// All at once, so that the order of the spellings is not the order of the files.
#[test]
fn mixed_spellings_in_one_link() {
    if require_farm() {
        let program = small_c_named(["main.c", "lib/twice.c", "lib/add.c", "start.c"]);
        let program = program.spelled(|folder, input| match input {
            "main.o" => PathBuf::from("./main.o"),
            "lib/twice.o" => folder.join("lib/../lib//twice.o"),
            "lib/add.o" => Path::new("..").join(folder.file_name().expect("it has a name")).join("lib/add.o"),
            other => PathBuf::from(other),
        });
        expect_small_c(&same_everywhere(&program));
    }
}

#[test]
fn same_base_names_in_two_folders() {
    if require_farm() {
        expect_small_c(&same_everywhere(&small_c_named(["a/x.c", "b/x.c", "x.c", "b/a/x.c"])));
    }
}

/// The linker writes regular members to files of their own, with spaces and parentheses in their names.
#[test]
fn members_of_a_regular_archive() {
    if require_farm() {
        let program = small_c_named(["main.c", "my lib/twice.c", "add.c", "start.c"]);
        let program = program.archive("my lib/lib (1).a", &["my lib/twice.o", "add.o"], false);
        expect_small_c(&same_everywhere(&program));
    }
}

#[test]
fn members_of_a_regular_archive_with_one_name() {
    if require_farm() {
        let mut program = small_c_named(["main.c", "a/x.c", "b/x.c", "start.c"]);
        run(Command::new("llvm-ar-22").current_dir(program.folder.path()).args(["qcs", "./-lib.a", "a/x.o", "b/x.o"]));
        program.inputs = ["main.o", "./-lib.a", "start.o"].map(str::to_owned).into();
        expect_small_c(&same_everywhere(&program));
    }
}

#[test]
fn members_of_a_thin_archive() {
    if require_farm() {
        let program = small_c_named(["main.c", "lib/twice.c", "other/add.c", "start.c"]);
        let program = program.archive("lib/lib.a", &["lib/twice.o", "other/add.o"], true);
        expect_small_c(&same_everywhere(&program));
    }
}

/// A thin archive's member reaches the compiler's command line without a folder before it.
#[test]
fn members_of_a_thin_archive_that_look_like_options() {
    if require_farm() {
        let mut program = small_c_named(["main.c", "-o.c", "@add.c", "-start.c"]);
        let members = ["./-o.o", "./@add.o", "./-start.o"];
        run(Command::new("llvm-ar-22")
            .current_dir(program.folder.path())
            .args(["rcs", "--thin", "lib.a"])
            .args(members));
        program.inputs = ["main.o", "-Wl,--whole-archive", "lib.a", "-Wl,--no-whole-archive"].map(str::to_owned).into();
        let linked = same_everywhere(&program);
        expect_small_c(&linked);
        assert_eq!(modules(&linked), ["main.o", "-o.o", "@add.o", "-start.o"]);
    }
}

#[test]
fn objects_between_start_lib_and_end_lib() {
    if require_farm() {
        let mut program = Program::small_c(&["-O2"]);
        program.inputs.insert(1, "-Wl,--start-lib".to_owned());
        program.inputs.push("-Wl,--end-lib".to_owned());
        // Nobody needs the constructor's module, but for its variable.
        expect_small_c(&same_everywhere(&program));
    }
}

#[test]
fn odd_names() {
    if require_farm() {
        let spaces_and_quotes = ["ma in.c", "it's (twice).c", "\"add\" \\ add.c", "-start.c"];
        expect_small_c(&same_everywhere(&small_c_named(spaces_and_quotes)));
        let shell_and_control = ["$HOME `x`;*?.c", "two\nlines.c", "@add\t{}%s.c", ".c"];
        expect_small_c(&same_everywhere(&small_c_named(shell_and_control)));
    }
}

/// The modules as the linker named them.
fn modules(linked: &Linked) -> Vec<&str> {
    let jobs = linked.report()["jobs"].as_array().expect("the report has jobs");
    jobs.iter().map(|job| job["module"].as_str().expect("a job has a module")).collect()
}

/// LLVM 22 damages such names in the shard: all that follows the first byte above 0x7f is gone.
#[test]
fn names_outside_of_ascii() {
    if require_farm() {
        expect_small_c(&same_everywhere(&small_c_named(["ü1.c", "ü2.c", "ü3.c", "ü/4.c"])));
        expect_small_c(&same_everywhere(&small_c_named(["z.c", "研究.c", "ä.c", "🦀/a.c"])));
    }
}

#[test]
fn a_whole_link_below_a_folder_outside_of_ascii() {
    if !require_farm() {
        return;
    }
    let names = ["Büro-研究/main.c", "Büro-研究/lib/twice.c", "Büro-研究/add.c", "Büro-研究/start.c"];
    expect_small_c(&same_everywhere(&small_c_named(names)));
    let inside = |folder: &Path, input: &str| folder.join(input);
    expect_small_c(&same_with(&small_c_named(names).spelled(inside), |link| link.run_in("Büro-研究")));
    let archived = small_c_named(names)
        .archive("Büro-研究/libr.a", &["Büro-研究/lib/twice.o"], false)
        .archive("Büro-研究/libt.a", &["Büro-研究/add.o"], true)
        .spelled(inside);
    expect_small_c(&same_with(&archived, |link| link.run_in("Büro-研究")));
}

/// Of a class that several modules define, the debug information of the first one that is imported stays; and clang imports
/// in the order of the modules' paths.
#[test]
fn the_order_of_imports() {
    if !require_farm() {
        return;
    }
    for names in [["c.cpp", "a.cpp", "b.cpp"], ["ä/x.cpp", "x.cpp", "~.cpp"], ["é2.cpp", "é1.cpp", "é3.cpp"]] {
        let mut program = Program::new(Language::Cxx, &["-O2", "-g"]);
        let mut calls = String::from("int main(int n, char **) { return 0");
        for (line, name) in names.iter().enumerate() {
            let class = "struct Twice { int value; int get() const { return value * 2; } };";
            let (before, after) = ("\n".repeat(line), "\n".repeat(names.len() - line));
            let text = format!(
                "{before}{class}{after}static int s;\nint f{line}(int n) {{ return s += Twice{{n}}.get(); }}\n"
            );
            program = program.module(name, &text);
            calls = format!("int f{line}(int);\n{calls} + f{line}(n)");
        }
        let program = program.module("main.cpp", &format!("{calls}; }}\n"));
        let program = program.spelled(|folder, input| if input == "b.o" { folder.join(input) } else { input.into() });
        same_everywhere(&program);
    }
}

/// Names of one length, the same up to the first byte above 0x7f, imported by one module: damaged, they are one name.
#[test]
fn damaged_names_that_become_one() {
    if !require_farm() {
        return;
    }
    let names = ["é3", "é1", "é4", "é2"];
    let mut program = Program::new(Language::C, &["-O2"]);
    let (mut uses, mut sum) = (String::new(), String::from("0"));
    for (number, name) in names.iter().enumerate() {
        let text = format!("static int s; int f{number}(int x) {{ s += x; return s * {number}; }}\n");
        program = program.module(&format!("{name}.c"), &text);
        uses.push_str(&format!("int f{number}(int);\n"));
        sum.push_str(&format!(" + f{number}({number})"));
    }
    let text = format!("{uses}#include <stdio.h>\nint main(void) {{ printf(\"%d\\n\", {sum}); return 0; }}\n");
    let program = program.module("é0.c", &text);
    assert_eq!(same_everywhere(&program).output(), "14\n");
}
