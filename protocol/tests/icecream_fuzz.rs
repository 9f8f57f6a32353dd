//! The icecream fuzz targets over their committed corpus, and over simple changes to it.
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/corpus.rs"]
mod corpus;

use corpus::run;
use proptest::prelude::*;
use thinbridge_protocol::fuzz::{fuzz_icecream_channel, fuzz_icecream_discovery, fuzz_icecream_file};

#[test]
fn channel() {
    run("icecream_channel", fuzz_icecream_channel);
}

#[test]
fn discovery() {
    run("icecream_discovery", fuzz_icecream_discovery);
}

#[test]
fn file() {
    corpus::files("icecream_file").iter().for_each(|file| fuzz_icecream_file(file));
}

proptest! {
    #[test]
    fn any_bytes(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz_icecream_channel(&data);
        fuzz_icecream_discovery(&data);
        fuzz_icecream_file(&data);
    }

    /// A greeting and a frame of the right length, so that more than the first word is looked at.
    #[test]
    fn any_message(version in 0..15u8, number in 65..98u32, body in proptest::collection::vec(small_byte(), 0..120)) {
        let word = (30 + u32::from(version)).to_le_bytes();
        let length = (body.len() as u32 + 4).to_be_bytes();
        let stream = [&[5, version], word.as_slice(), &word, &length, &number.to_be_bytes(), &body].concat();
        fuzz_icecream_channel(&stream);
    }
}

/// Mostly what numbers and lengths are made of.
fn small_byte() -> impl Strategy<Value = u8> {
    prop_oneof![6 => Just(0), 3 => 1..6u8, 1 => any::<u8>()]
}
