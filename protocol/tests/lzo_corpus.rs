//! Runs the LZO fuzz bodies over the committed corpus.

use std::fs;
use std::path::Path;

use thinbridge_protocol::lzo::fuzz;

fn each_in(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus is there") {
        let file = entry.expect("the corpus can be listed").path();
        println!("{}", file.display());
        body(&fs::read(&file).expect("the corpus can be read"));
        count += 1;
    }
    assert!(count > 10, "{} holds only {count} files", folder.display());
}

#[test]
fn decompress() {
    each_in("lzo_decompress", fuzz::fuzz_decompress);
}

#[test]
fn roundtrip() {
    each_in("lzo_roundtrip", fuzz::fuzz_roundtrip);
}
