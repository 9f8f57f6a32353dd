use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

mod compiled;
mod damage;
mod names;
mod triples;
mod work;

/// Names that must be defined, with or without C's underscore; what is missing is told by its place here.
#[derive(Debug)]
struct Promised(&'static [&'static str]);

impl Definitions for Promised {
    fn missing(&self, symbols: &mut dyn Iterator<Item = &[u8]>) -> Vec<u64> {
        let plain = |symbol: &[u8]| symbol.strip_prefix(b"_").unwrap_or(symbol).to_vec();
        let defined: BTreeSet<Vec<u8>> = symbols.map(plain).collect();
        (0..).zip(self.0).filter(|(_, name)| !defined.contains(name.as_bytes())).map(|(guid, _)| guid).collect()
    }
}

/// What `good.c` defines: initialised, weak and global.
const GOOD: Promised = Promised(&["counter", "weakly", "work"]);

/// An object of the corpus, with the target it was compiled for.
struct Sample {
    name: &'static str,
    triple: &'static str,
    object: &'static [u8],
}

macro_rules! sample {
    ($name:literal, $triple:literal) => {
        Sample {
            name: $name,
            triple: $triple,
            object: include_bytes!(concat!("../../../tests/corpus/objects/", $name)),
        }
    };
}

const ELF: &[Sample] = &[
    sample!("x86_64.o", "x86_64-unknown-linux-gnu"),
    sample!("gnu-as.o", "x86_64-unknown-linux-gnu"),
    sample!("freebsd.o", "x86_64-unknown-freebsd"),
    sample!("i386.o", "i386-unknown-linux-gnu"),
    sample!("aarch64.o", "aarch64-unknown-linux-gnu"),
    sample!("arm.o", "armv7-unknown-linux-gnueabihf"),
    sample!("riscv64.o", "riscv64-unknown-linux-gnu"),
    sample!("mips64el.o", "mips64el-unknown-linux-gnuabi64"),
    sample!("s390x.o", "s390x-unknown-linux-gnu"),
];
const COFF: &[Sample] =
    &[sample!("x86_64.obj", "x86_64-pc-windows-msvc"), sample!("i686.obj", "i686-unknown-windows-gnu")];
const OTHER: Sample = sample!("other.o", "x86_64-unknown-linux-gnu");
const NO_SYMBOLS: Sample = sample!("no-symbols.o", "x86_64-unknown-linux-gnu");

fn samples() -> impl Iterator<Item = &'static Sample> {
    ELF.iter().chain(COFF)
}

impl Sample {
    fn expected(&self) -> Expected<'static> {
        Expected {
            target: Target::parse(self.triple),
            flags: elf_flags(self.object),
            source_name: Some(b"some/where/good.c"),
            definitions: &GOOD,
        }
    }

    fn verify(&self, object: &[u8]) -> Result<(), Flaw> {
        verify(object, &self.expected(), b"")
    }
}

#[test]
fn whole_objects_are_accepted() {
    for sample in samples() {
        assert_eq!(sample.verify(sample.object), Ok(()), "{}", sample.name);
        let unknown = Expected { target: Target::Unknown, flags: None, ..sample.expected() };
        assert_eq!(verify(sample.object, &unknown, b""), Ok(()), "{}", sample.name);
    }
}

#[test]
fn empty_and_foreign_files_are_refused() {
    let sample = &ELF[0];
    assert_eq!(sample.verify(b""), Err(Flaw::Empty));
    for foreign in [&b"BC\xc0\xde"[..], b"!<arch>\n", b"\xcf\xfa\xed\xfe", b"\0asm", b"\x7fEL", b"#!/bin/sh\n", b"\0\0"]
    {
        let start = foreign[..foreign.len().min(4)].to_vec();
        assert_eq!(sample.verify(foreign), Err(Flaw::NotAnObject { start }));
    }
}

#[test]
fn objects_for_another_machine_are_refused() {
    for target in samples() {
        for made in samples().filter(|made| made.triple != target.triple && made.name != "freebsd.o") {
            let verdict = target.verify(made.object);
            if target.name == "freebsd.o" && made.triple == "x86_64-unknown-linux-gnu" {
                continue; // the same machine, and an assembler of that system may well say no more
            }
            assert!(
                matches!(verdict, Err(Flaw::WrongMachine { .. })),
                "{} as {}: {verdict:?}",
                made.name,
                target.triple
            );
        }
    }
}

#[test]
fn an_object_of_another_system_is_refused() {
    let freebsd = ELF.iter().find(|sample| sample.name == "freebsd.o").expect("it is in the corpus");
    assert_eq!(ELF[0].verify(freebsd.object), Err(Flaw::Header { field: "EI_OSABI", value: 9 }));
}

#[test]
fn an_object_without_symbols_is_refused() {
    // Also by the source file it names, when it names one: so this looks at definitions alone.
    let expected = Expected { source_name: None, ..ELF[0].expected() };
    let verdict = verify(NO_SYMBOLS.object, &expected, b"");
    assert_eq!(verdict, Err(Flaw::MissingDefinitions { count: 2, guid: 0 }));
}

#[test]
fn an_object_of_another_job_is_refused() {
    assert!(matches!(ELF[0].verify(OTHER.object), Err(Flaw::WrongSource { .. })));
    let expected = Expected { source_name: None, ..ELF[0].expected() };
    assert_eq!(verify(OTHER.object, &expected, b""), Err(Flaw::MissingDefinitions { count: 3, guid: 0 }));
    let expected = Expected { source_name: Some(b"other.c"), definitions: &NoDefinitions, ..ELF[0].expected() };
    assert_eq!(verify(OTHER.object, &expected, b""), Ok(()));
}

#[test]
fn flags_of_another_abi_are_refused() {
    let riscv = ELF.iter().find(|sample| sample.name == "riscv64.o").expect("it is in the corpus");
    let expected = Expected { flags: Some(1), ..riscv.expected() };
    assert_eq!(verify(riscv.object, &expected, b""), Err(Flaw::OtherFlags { expected: 1, found: 5 }));
    assert_eq!(elf_flags(riscv.object), Some(5));
    assert_eq!(elf_flags(COFF[0].object), None);
    assert_eq!(elf_flags(&riscv.object[..40]), None);
}

#[test]
fn a_backend_failure_is_refused_whatever_the_object() {
    let sample = &ELF[0];
    for text in [
        "Error running ThinLTO backend: Error loading imported file 'b.o'",
        "Error loading imported file 'b.o': No such file or directory",
        "Error loading index file 's.bc': Invalid bitcode signature",
        "Error setting up ThinLTO save-temps: no space",
    ] {
        let stderr = format!("warning: something else\n{text}\nmore\n");
        let verdict = verify(sample.object, &sample.expected(), stderr.as_bytes());
        assert_eq!(verdict, Err(Flaw::BackendError { line: text.to_owned() }));
    }
    let long = [b"Error loading index file ", &[0xff; 1_000_000][..]].concat();
    let verdict = verify(sample.object, &sample.expected(), &long);
    assert!(matches!(verdict, Err(Flaw::BackendError { line }) if line.len() < 4000));
}

#[test]
fn warnings_are_accepted() {
    let sample = &ELF[0];
    for text in [
        "warning: loop not vectorized [-Wpass-failed=transform-warning]\n1 warning generated.\n",
        "a.c:3:1: error-like words: could not load, failed, Error\n",
        "\u{fffd}\0\n\n",
    ] {
        assert_eq!(verify(sample.object, &sample.expected(), text.as_bytes()), Ok(()));
    }
}

#[test]
fn every_flaw_has_words() {
    let flaws = [
        Flaw::BackendError { line: "Error loading".to_owned() },
        Flaw::Empty,
        Flaw::NotAnObject { start: vec![0, b'a', 0xff] },
        Flaw::WrongMachine { expected: "a".to_owned(), found: "b".to_owned() },
        Flaw::Truncated { part: layout::Part::SectionTable, end: 9, size: 8 },
        Flaw::Truncated { part: layout::Part::Section(3), end: u64::MAX, size: 8 },
        Flaw::MissingDefinitions { count: 3, guid: 4 },
    ];
    let texts: BTreeSet<String> = flaws.iter().map(Flaw::to_string).collect();
    assert_eq!(texts.len(), flaws.len());
    assert!(texts.iter().all(|text| text.is_ascii() && !text.contains('\n')), "{texts:?}");
    assert!(texts.contains("the object is cut off: the section table ends at byte 9, the object at byte 8"));
}
