//! The fuzz targets over their committed corpus, and over simple changes to it.
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/corpus.rs"]
mod corpus;

use corpus::run;
use proptest::prelude::*;
use thinbridge_protocol::fuzz::{fuzz_distcc_request, fuzz_distcc_response, fuzz_host_list, fuzz_scan};

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
