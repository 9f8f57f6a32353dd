//! Real shards and modules, as lld and clang 22 wrote them: whole, cut at every byte, and with bits flipped.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use thinbridge::bitcode::fuzz::{fuzz_module, fuzz_shard};
use thinbridge::bitcode::{Linkage, Shard, module};

use super::harness::{have, run};

fn corpus(suffix: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/bitcode");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.to_str().unwrap().ends_with(suffix)).collect();
    paths.sort();
    assert!(!paths.is_empty(), "the corpus has {suffix} files");
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn every_shard_is_read_and_written_again() {
    for (path, bytes) in corpus(".thinlto.bc") {
        let shard = Shard::parse(&bytes).unwrap_or_else(|unreadable| panic!("{}: {unreadable}", path.display()));
        let again = Shard::parse(&shard.rewrite(shard.modules()).unwrap()).unwrap();
        assert_eq!(again.modules(), shard.modules());
        fuzz_shard(&bytes);
    }
}

#[test]
fn every_module_tells_its_source_triple_and_hash() {
    for (path, bytes) in corpus("-module.bc") {
        let facts = module::facts(&bytes).unwrap_or_else(|| panic!("{}", path.display()));
        assert!(!facts.source_file.is_empty() && facts.triple.is_some(), "{}: {facts:?}", path.display());
        assert!(module::hash(&bytes).is_some(), "{}", path.display());
    }
}

#[test]
fn a_shard_cut_anywhere_is_unreadable() {
    for (path, bytes) in corpus(".thinlto.bc") {
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            fuzz_module(cut);
            assert!(Shard::parse(cut).is_err(), "{}: {length} bytes", path.display());
        }
    }
}

#[test]
fn a_module_cut_anywhere_tells_nothing_wrong() {
    for (path, bytes) in corpus("-module.bc") {
        let (facts, hash) = (module::facts(&bytes), module::hash(&bytes));
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            let (cut_facts, cut_hash) = (module::facts(cut), module::hash(cut));
            assert!(cut_facts.is_none() || cut_facts == facts, "{}: {length} bytes", path.display());
            assert!(cut_hash.is_none() || cut_hash == hash, "{}: {length} bytes", path.display());
        }
    }
}

#[test]
fn no_flipped_bit_breaks_a_promise() {
    for (_, mut bytes) in corpus(".bc") {
        let step = if bytes.len() < 400 { 1 } else { 13 };
        for bit in (0..bytes.len() * 8).step_by(step) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            fuzz_shard(&bytes);
            fuzz_module(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// GUID, linkage and liveness of every definition, as LLVM's own reader prints them.
#[test]
fn definitions_are_what_llvm_reads() {
    if !have(&["llvm-dis-22"]) {
        return;
    }
    for (path, bytes) in corpus(".thinlto.bc") {
        let shard = Shard::parse(&bytes).unwrap();
        let all = shard.modules().iter().flat_map(|module| shard.definitions(module.id));
        let ours: BTreeSet<(u64, String, bool)> =
            all.map(|one| (one.guid, linkage(one.linkage).to_owned(), one.live)).collect();
        let printed = run(Command::new("llvm-dis-22").arg(&path).args(["-o", "-"])).stdout;
        assert_eq!(ours, printed_definitions(&String::from_utf8(printed).unwrap()), "{}", path.display());
    }
}

/// Takes `^4 = gv: (guid: 123, summaries: (function: (module: ^0, flags: (linkage: internal, …, live: 1, …` apart.
fn printed_definitions(text: &str) -> BTreeSet<(u64, String, bool)> {
    let mut definitions = BTreeSet::new();
    for line in text.lines().filter(|line| line.contains("summaries: (")) {
        let guid = between(line, "guid: ", ",").parse().unwrap();
        for summary in line.split("flags: (linkage: ").skip(1) {
            let linkage = summary.split(',').next().unwrap().to_owned();
            definitions.insert((guid, linkage, between(summary, "live: ", ",") == "1"));
        }
    }
    definitions
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split_once(before).unwrap().1.split_once(after).unwrap().0
}

fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::External => "external",
        Linkage::AvailableExternally => "available_externally",
        Linkage::LinkOnceAny => "linkonce",
        Linkage::LinkOnceOdr => "linkonce_odr",
        Linkage::WeakAny => "weak",
        Linkage::WeakOdr => "weak_odr",
        Linkage::Appending => "appending",
        Linkage::Internal => "internal",
        Linkage::Private => "private",
        Linkage::ExternalWeak => "extern_weak",
        Linkage::Common => "common",
    }
}
