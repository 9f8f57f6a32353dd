//! Small programs in ThinLTO bitcode, in every layout that a link may have.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Workdir, run};

/// What a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

impl Language {
    /// The compiler that compiles and links it.
    pub(crate) fn compiler(self) -> &'static str {
        match self {
            Self::C => "clang-22",
            Self::Cxx => "clang++-22",
        }
    }
}

/// A program's objects, compiled and ready to be linked.
pub(crate) struct Program {
    /// Holds everything; links run here unless told otherwise.
    pub(crate) folder: Workdir,
    pub(crate) language: Language,
    /// Flags of the compilation and of the link.
    pub(crate) flags: Vec<String>,
    /// The objects and archives as the link line spells them.
    pub(crate) inputs: Vec<String>,
}

/// The modules of [`Program::small_c`]: functions small enough to be imported, in both directions, some of them static
/// so that importing has to promote them, and one that only a constructor calls.
pub(crate) const SMALL_C: [(&str, &str); 4] = [
    (
        "main.c",
        "#include <stdio.h>\n\
         int twice(int); int add(int, int); int count(void); extern int started;\n\
         int hundred(void) { return 100; }\n\
         int main(void) { printf(\"%d %d %d %d\\n\", twice(21), add(2, 3), count(), started); return 0; }\n",
    ),
    (
        "twice.c",
        "int add(int, int);\n\
         static int helper(int x) { return add(x, x); }\n\
         int twice(int x) { return helper(x); }\n",
    ),
    (
        "add.c",
        "int hundred(void);\n\
         static int calls;\n\
         static void note(void) { calls += hundred() - 99; }\n\
         int add(int a, int b) { note(); return a + b; }\n\
         int count(void) { return calls; }\n",
    ),
    ("start.c", "int started;\n__attribute__((constructor)) static void start(void) { started = 7; }\n"),
];

/// What that program prints.
pub(crate) const SMALL_C_OUTPUT: &str = "42 5 2 7\n";

/// The modules of [`Program::small_cpp`]: a template and an inline function in two modules, a class with a vtable,
/// exceptions.
pub(crate) const SMALL_CPP: [(&str, &str); 3] = [
    (
        "main.cpp",
        "#include \"shape.h\"\n#include <cstdio>\n#include <stdexcept>\n\
         int main() {\n\
           auto shape = make_square(3);\n\
           int caught = 0;\n\
           try { shape->scale(-1); } catch (const std::invalid_argument &) { caught = 1; }\n\
           std::printf(\"%d %d %d\\n\", shape->area(), biggest<int>({1, 4, 2}), caught);\n\
         }\n",
    ),
    (
        "square.cpp",
        "#include \"shape.h\"\n#include <stdexcept>\n\
         namespace {\n\
         struct Square : Shape {\n\
           int side;\n\
           explicit Square(int side) : side(side) {}\n\
           int area() const override { return side * side; }\n\
           void scale(int by) override { if (by < 0) throw std::invalid_argument(\"by\"); side *= by; }\n\
         };\n\
         }\n\
         std::unique_ptr<Shape> make_square(int side) { return std::make_unique<Square>(biggest<int>({side, 0})); }\n",
    ),
    ("shape.cpp", "#include \"shape.h\"\nShape::~Shape() = default;\n"),
];

const SHAPE_H: &str = "#pragma once\n#include <initializer_list>\n#include <memory>\n\
     struct Shape { virtual ~Shape(); virtual int area() const = 0; virtual void scale(int) = 0; };\n\
     std::unique_ptr<Shape> make_square(int side);\n\
     template <class T> T biggest(std::initializer_list<T> values) {\n\
       T best = *values.begin();\n\
       for (auto value : values) if (best < value) best = value;\n\
       return best;\n\
     }\n";

impl Program {
    /// An empty program in a new folder.
    pub(crate) fn new(language: Language, flags: &[&str]) -> Self {
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        Self { folder: Workdir::new(), language, flags, inputs: Vec::new() }
    }

    /// Four modules of C that import from each other; they print [`SMALL_C_OUTPUT`].
    pub(crate) fn small_c(flags: &[&str]) -> Self {
        SMALL_C.iter().fold(Self::new(Language::C, flags), |program, (name, text)| program.module(name, text))
    }

    /// Three modules of C++; they print `9 4 1`.
    pub(crate) fn small_cpp(flags: &[&str]) -> Self {
        let program = Self::new(Language::Cxx, flags);
        program.folder.write("shape.h", SHAPE_H);
        SMALL_CPP.iter().fold(program, |program, (name, text)| program.module(name, text))
    }

    /// Writes a source file, compiles it to the object beside it, and puts that on the link line. Any name will do:
    /// folders, spaces, quotes, a leading dash.
    pub(crate) fn module(mut self, name: &str, text: &str) -> Self {
        let object = self.compile(name, text);
        self.inputs.push(object);
        self
    }

    /// As [`Self::module`], but the link line is left alone. Answers the object's name.
    pub(crate) fn compile(&self, name: &str, text: &str) -> String {
        let source = self.folder.write(name, text);
        let object = Path::new(name).with_extension("o");
        let output = self.folder.join(&object);
        let mut compiler = Command::new(self.language.compiler());
        compiler.current_dir(self.folder.path()).arg("-flto=thin").args(&self.flags);
        let source = Path::new(".").join(source.strip_prefix(self.folder.path()).expect("below the folder"));
        run(compiler.arg("-c").arg(source).arg("-o").arg(output));
        // Without a folder before it, clang and the linker take such a name for an option or a response file.
        let object = if name.starts_with(['-', '@']) { Path::new(".").join(object) } else { object };
        object.to_str().expect("names in tests are UTF-8").to_owned()
    }

    /// Puts these inputs into an archive, regular or thin, which takes their place on the link line.
    pub(crate) fn archive(mut self, archive: &str, members: &[&str], thin: bool) -> Self {
        let ar = ["llvm-ar-22", "/usr/lib/llvm-22/bin/llvm-ar", "ar"];
        let ar = ar.iter().find(|ar| Path::new(ar).is_file() || super::find_in_path(ar).is_some()).expect("an ar");
        let mut command = Command::new(ar);
        command.current_dir(self.folder.path());
        if thin {
            command.arg("--thin");
        }
        run(command.arg("rcs").arg(archive).args(members));
        self.inputs.retain(|input| !members.contains(&input.as_str()));
        self.inputs.push(archive.to_owned());
        self
    }

    /// Spells every input in another way: absolute, below `..`, and so on.
    pub(crate) fn spelled(mut self, spell: impl Fn(&Path, &str) -> PathBuf) -> Self {
        let spell = |input: &String| spell(self.folder.path(), input).to_str().expect("UTF-8").to_owned();
        self.inputs = self.inputs.iter().map(spell).collect();
        self
    }

    /// How many jobs its link has, archives not opened.
    pub(crate) fn modules(&self) -> usize {
        self.inputs.len()
    }
}
