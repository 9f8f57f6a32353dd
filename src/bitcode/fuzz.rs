//! Bodies of the fuzz targets in `fuzz/`, which `cargo test` runs over a corpus: they panic where a promise is broken.

use super::{Definitions, Mapping, Module, Shard, module, resolve};

/// Whatever the bytes are, reading them ends well; and what was read can be written again and read back.
pub fn fuzz_shard(bytes: &[u8]) {
    let Ok(shard) = Shard::parse(bytes) else { return };
    check_rewrite(&shard, shard.modules());
    for own in shard.modules() {
        let others: Vec<&[u8]> = shard.modules().iter().map(|module| module.path.as_slice()).collect();
        let Ok(resolved) = resolve(&shard, &others, &own.path, |_| None) else { continue };
        let mapping = Mapping::new(&others);
        let named = |module: &Module| mapping.name(&module.path).map(String::into_bytes);
        let renamed =
            resolved.modules().iter().filter_map(|module| Some(Module { path: named(module)?, ..module.clone() }));
        check_rewrite(&shard, &renamed.collect::<Vec<_>>());
        let definitions = Definitions::new(&shard, resolved.own(), Some(b"a.c"));
        assert_eq!(definitions.missing([]).is_empty(), definitions.is_empty(), "no symbols define nothing");
    }
}

/// Whatever the bytes are, looking for a module's facts ends well.
pub fn fuzz_module(bytes: &[u8]) {
    let _ = module::facts(bytes);
    let _ = module::hash(bytes);
}

fn check_rewrite(shard: &Shard, modules: &[Module]) {
    let Ok(written) = shard.rewrite(modules) else { return };
    let again = Shard::parse(&written);
    let Ok(again) = again else { panic!("a rewritten shard cannot be read: {again:?}") };
    assert_eq!(again.modules(), modules, "the table is the one asked for");
    for module in modules {
        let (before, after) = (shard.definitions(module.id), again.definitions(module.id));
        assert!(before.eq(after), "the summaries are the same");
    }
}
