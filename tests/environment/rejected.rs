//! Bundles that are not taken.

use proptest::prelude::*;
use thinbridge_protocol::bundle::{BAD_BUNDLE, MESSAGE_PREFIX, PRELUDE_LEN};

use crate::laid_out::{LaidOut, bundle};
use crate::support::require;

/// Nothing of it is left, and the compiler was not started: with this bundle it would leave an object.
fn assert_refused(environment: &LaidOut, bytes: Vec<u8>) {
    let ended = environment.run(bytes);
    assert_eq!(ended.status.code(), Some(BAD_BUNDLE.into()), "{}", ended.stderr);
    assert!(ended.stderr.starts_with(MESSAGE_PREFIX) && ended.stderr.lines().count() == 1, "{}", ended.stderr);
    assert_eq!(ended.object, b"");
}

fn good() -> Vec<u8> {
    bundle(&["cat", "a/b"], &[("a/b", b"content"), ("c", &[9; 300])])
}

/// Where the contents begin: they end the bundle.
fn contents_at() -> usize {
    good().len() - 307
}

#[test]
fn what_is_no_bundle_is_refused() {
    if !require(&["clang-22"]) {
        return;
    }
    let environment = LaidOut::stand_in();
    assert!(environment.run(good()).status.success());
    assert_refused(&environment, Vec::new());
    assert_refused(&environment, b"int main(void) { return 0; }\n".to_vec());
    assert_refused(&environment, vec![0xff; 300_000]);
    assert_refused(&environment, [good(), vec![0; 200_000]].concat());
    let mut endless = good();
    endless[8..PRELUDE_LEN].fill(0xff);
    assert_refused(&environment, endless);
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    if !require(&["clang-22"]) {
        return;
    }
    let environment = LaidOut::stand_in();
    let at = good().windows(3).rposition(|window| window == b"a/b").unwrap();
    for name in [b"../", b"/ab", b"a/\0", b"a//", b"./b", b"/..", b"a/."] {
        let mut bytes = good();
        bytes[at..at + 3].copy_from_slice(name);
        assert_refused(&environment, bytes);
    }
}

#[test]
fn damage_of_any_content_is_noticed() {
    if !require(&["clang-22"]) {
        return;
    }
    let environment = LaidOut::stand_in();
    for at in [contents_at(), contents_at() + 7, good().len() - 1] {
        let mut bytes = good();
        bytes[at] ^= 0x20;
        assert_refused(&environment, bytes);
    }
}

#[test]
fn a_bundle_that_is_cut_anywhere_is_refused() {
    if !require(&["clang-22"]) {
        return;
    }
    let environment = LaidOut::stand_in();
    proptest!(config(), |(length in 0..good().len())| {
        let mut bytes = good();
        bytes.truncate(length);
        assert_refused(&environment, bytes);
    });
}

#[test]
fn junk_is_refused() {
    if !require(&["clang-22"]) {
        return;
    }
    let environment = LaidOut::stand_in();
    proptest!(config(), |(bytes in prop::collection::vec(any::<u8>(), 0..500))| {
        assert_refused(&environment, [b"tbundle\x01".as_slice(), &bytes].concat());
    });
}

#[test]
fn a_byte_changed_anywhere_leaves_nothing_behind() {
    if !require(&["clang-22"]) {
        return;
    }
    let environment = LaidOut::stand_in();
    proptest!(config(), |(at in 0..good().len(), value: u8)| {
        let mut bytes = good();
        bytes[at] = value;
        // `run` looks at what is left. A changed argument is one that the compiler refuses.
        let ended = environment.run(bytes);
        prop_assert!([0, 8, 9, BAD_BUNDLE.into()].contains(&ended.status.code().unwrap_or(-1)), "{}", ended.stderr);
    });
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() }
}
