//! The fuzz targets of the bundle and the manifest over their committed corpus, and over simple changes to it.
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/corpus.rs"]
mod corpus;

use corpus::run;
use proptest::prelude::*;
use thinbridge_protocol::fuzz::{fuzz_bundle, fuzz_manifest};

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
