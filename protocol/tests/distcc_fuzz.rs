//! The fuzz targets over their committed corpus, and over simple changes to it.
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use thinbridge_protocol::fuzz::{fuzz_distcc_request, fuzz_distcc_response, fuzz_host_list, fuzz_scan};

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: Vec<_> = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// Runs `target` over each file as it is, cut at each byte, and with each byte changed in some ways.
fn run(name: &str, target: fn(&[u8])) {
    for file in corpus(name) {
        target(&file);
        for place in 0..file.len() {
            target(&file[..place]);
            for mask in [0x01, 0x20, 0x80, 0xff] {
                let mut changed = file.clone();
                changed[place] ^= mask;
                target(&changed);
            }
        }
    }
}

#[test]
fn distcc_request() {
    run("distcc_request", fuzz_distcc_request);
}

#[test]
fn distcc_response() {
    run("distcc_response", fuzz_distcc_response);
}

#[test]
fn host_list() {
    run("host_list", fuzz_host_list);
}

#[test]
fn scan() {
    run("scan", fuzz_scan);
}

proptest! {
    #[test]
    fn any_bytes(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz_distcc_request(&data);
        fuzz_distcc_response(&data);
        fuzz_host_list(&data);
        fuzz_scan(&data);
    }

    #[test]
    fn any_words(text in "([a-c@:/=,#%+0-9 \\[\\]-]|lzo|cpp|localhost|--localslots|auth){0,30}") {
        fuzz_host_list(text.as_bytes());
    }
}
