//! Table entries and the inputs they mean.

use proptest::prelude::*;

use super::emitter::{hash, modules, shard};
use crate::bitcode::{Mapping, Mismatch, Resolved, Shard, Unmapped, resolve};

fn resolved(named: &[&str], inputs: &[&str], own: &str) -> Result<Resolved, Mismatch> {
    let bytes = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
    let (named, inputs) = (bytes(named), bytes(inputs));
    let shard = Shard::parse(&shard(&modules(&slices(&named)))).unwrap();
    resolve(&shard, &slices(&inputs), own.as_bytes(), |path| Some(hash(path)))
}

fn slices(paths: &[Vec<u8>]) -> Vec<&[u8]> {
    paths.iter().map(Vec::as_slice).collect()
}

fn paths(resolved: &Resolved) -> Vec<String> {
    resolved.modules().iter().map(|module| String::from_utf8_lossy(&module.path).into_owned()).collect()
}

#[test]
fn an_undamaged_table_is_taken_as_it_is() {
    let inputs = ["b.o", "out/b.1.9.native.o.thinlto.bc", "/p/a.o", "unused.o"];
    let resolved = resolved(&["/p/a.o", "b.o"], &inputs, "b.o").unwrap();
    assert_eq!(paths(&resolved), ["/p/a.o", "b.o"]);
    assert_eq!((resolved.own(), resolved.damaged()), (1, false));
}

#[test]
fn a_table_out_of_order_is_taken_if_every_name_is_an_input() {
    let resolved = resolved(&["b.o", "a.o"], &["a.o", "b.o"], "a.o").unwrap();
    assert_eq!(paths(&resolved), ["b.o", "a.o"]);
}

#[test]
fn a_table_that_does_not_fit_is_refused() {
    let own = Mismatch::OwnModuleMissing { own: b"./b.o".to_vec() };
    assert_eq!(resolved(&["a.o", "b.o"], &["./b.o", "a.o"], "./b.o"), Err(own));
    let stranger = Mismatch::NotAnInput { recorded: b"a.o".to_vec() };
    assert_eq!(resolved(&["a.o", "b.o"], &["b.o", "c.o"], "b.o"), Err(stranger));
    assert_eq!(resolved(&["a.o", "a.o"], &["a.o", "b.o"], "a.o"), Err(Mismatch::Ambiguous));
}

#[test]
fn damaged_names_are_told_apart_by_their_order() {
    let inputs = ["ü.o", "s.thinlto.bc", "ä.o", "ö.o"];
    let resolved = resolved(&["ä.o", "ö.o", "ü.o"], &inputs, "ü.o").unwrap();
    assert_eq!(paths(&resolved), ["ä.o", "ö.o", "ü.o"]);
    assert!(resolved.damaged());
    assert_eq!(resolved.own(), 2);
}

/// The own module must be among the named ones, so it decides what the order leaves open.
#[test]
fn the_own_module_decides() {
    let inputs = ["ä.o", "ö.o", "ü.o"];
    assert_eq!(paths(&resolved(&["ä.o"], &inputs, "ä.o").unwrap()), ["ä.o"]);
    assert_eq!(paths(&resolved(&["ü.o"], &inputs, "ü.o").unwrap()), ["ü.o"]);
    assert_eq!(resolved(&["a.o", "ä.o"], &["a.o", "ä.o", "ö.o"], "a.o"), Err(Mismatch::Ambiguous));
}

#[test]
fn a_shard_that_is_called_like_a_damaged_module_is_no_module() {
    let inputs =
        ["ü/b.native.o.thinlto.bc", "ü/a.0.5.native.o.thinlto.bc", "ü/b.1.5.native.o.thinlto.bc", "ü/a.native.o"];
    let named = ["ü/a.native.o", "ü/b.native.o.thinlto.bc"];
    assert_eq!(paths(&resolved(&named, &inputs, "ü/b.native.o.thinlto.bc").unwrap()), named);
}

#[test]
fn a_path_without_a_short_name_is_no_silent_mistake() {
    let resolved = resolved(&["a.o", "b.o"], &["a.o", "b.o"], "a.o").unwrap();
    let shard = Shard::parse(&shard(&modules(&[b"a.o", b"b.o"]))).unwrap();
    assert_eq!(resolved.rename(&shard, &Mapping::new(["a.o"])), Err(Unmapped::Path(b"b.o".to_vec())));
    let renamed = resolved.rename(&shard, &Mapping::new(["b.o", "a.o", "0.o"])).unwrap();
    let names: Vec<_> = Shard::parse(&renamed).unwrap().modules().iter().map(|module| module.path.clone()).collect();
    assert_eq!(names, [b"m000001.c", b"m000002.c"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the names are and wherever in a word they fall: the true table comes back, hashes too.
    #[test]
    fn damage_is_undone(
        names in prop::collection::btree_set("[a-c/é-ü研\u{1F600}]{1,9}(\\.o)?", 1..8),
        own in any::<prop::sample::Index>(),
    ) {
        let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let true_table = modules(&names);
        let shard = Shard::parse(&shard(&true_table)).unwrap();
        let own = *own.get(&names);
        let resolved = resolve(&shard, &names, own, |path| Some(hash(path))).unwrap();
        prop_assert_eq!(resolved.modules(), &true_table[..]);
        prop_assert_eq!(resolved.damaged(), shard.modules() != &true_table[..]);
        let repaired = Shard::parse(&resolved.repair(&shard).unwrap()).unwrap();
        prop_assert_eq!(repaired.modules(), &true_table[..]);
    }
}
