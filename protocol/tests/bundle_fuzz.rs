//! The fuzz targets of the bundle and the manifest over their committed corpus, and over simple changes to it.
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use thinbridge_protocol::fuzz::{fuzz_bundle, fuzz_manifest};

/// Runs `target` over each file as it is, cut at each byte, and with each byte changed in some ways.
fn run(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(!files.is_empty());
    for file in files {
        target(&file);
        for place in 0..file.len() {
            target(&file[..place]);
            for mask in [0x01, 0x04, 0x80, 0xff] {
                let mut changed = file.clone();
                changed[place] ^= mask;
                target(&changed);
            }
        }
    }
}

#[test]
fn bundle() {
    run("bundle", fuzz_bundle);
}

#[test]
fn manifest() {
    run("manifest", fuzz_manifest);
}

proptest! {
    #[test]
    fn any_bytes(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz_bundle(&data);
        fuzz_manifest(&data);
    }
}
