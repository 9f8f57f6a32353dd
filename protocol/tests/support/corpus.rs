//! Fuzz targets over their committed corpora.

use std::fs;
use std::path::Path;

/// The files of a target's corpus.
pub(crate) fn files(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: Vec<_> = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// Runs `target` over each file as it is, cut at each byte, and with each byte changed in some ways.
pub(crate) fn run(name: &str, target: fn(&[u8])) {
    for file in files(name) {
        target(&file);
        for place in 0..file.len() {
            target(&file[..place]);
            for mask in [0x01, 0x04, 0x20, 0x80, 0xff] {
                let mut changed = file.clone();
                changed[place] ^= mask;
                target(&changed);
            }
        }
    }
}
