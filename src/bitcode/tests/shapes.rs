//! Shapes of shards and streams: those of later versions, and those of no version.

use super::emitter::{Emitter, modules, shard};
use crate::bitcode::fuzz::{fuzz_module, fuzz_shard};
use crate::bitcode::{Definition, Kind, Linkage, Module, Shard, Unreadable, module};

fn what(bytes: &[u8]) -> &'static str {
    Shard::parse(bytes).map(|_| "nothing").unwrap_or_else(|unreadable| unreadable.what)
}

/// A shard with blocks and records of its own kind around everything that we know, and abbreviations from BLOCKINFO.
fn later_version(modules: &[Module]) -> Vec<u8> {
    let mut stream = Emitter::new();
    stream.block(13, |identification| identification.record(1, &[76, 76, 86, 77]));
    stream.block(8, |module| {
        module.record(1, &[2]);
        module.block(0, |info| {
            info.record(1, &[19]);
            info.define_entry(1, Some(8));
        });
        module.block(99, |later| later.block(98, |nested| nested.record(7, &[1, 2, 3])));
        module.record(200, &[u64::MAX]);
        module.block(19, |table| {
            for module in modules {
                table.id(4);
                table.vbr(module.id, 8);
                table.vbr(module.path.len() as u64, 6);
                module.path.iter().for_each(|byte| table.emit(u32::from(*byte), 8));
            }
        });
        module.record(201, &[5]);
        module.summaries(modules);
        module.block(97, |later| later.record(1, &[]));
        module.record(202, &[6, 7]);
    });
    stream.strtab();
    stream.bytes()
}

#[test]
fn the_table_is_found_wherever_it_stands_and_all_else_is_kept() {
    let mut table = modules(&[b"a.o", b"sub/\xc3\xbc.o"]);
    table.iter_mut().for_each(|module| module.hash = None);
    let bytes = later_version(&table);
    let shard = Shard::parse(&bytes).unwrap();
    assert_eq!(shard.modules(), table);
    let defined = Definition { module: 1, guid: 1, linkage: Linkage::External, live: true, kind: Kind::Function };
    assert_eq!(shard.definitions(1).collect::<Vec<_>>(), [&defined]);

    table[0].path = b"something longer".to_vec();
    table[1].hash = Some([1, 2, 3, 4, u32::MAX]);
    let written = shard.rewrite(&table).unwrap();
    let again = Shard::parse(&written).unwrap();
    assert_eq!(again.modules(), table);
    assert_eq!(again.definitions(1).collect::<Vec<_>>(), [&defined]);
    let (old_head, new_head) = (shard.table.body() - 4, again.table.body() - 4);
    assert_eq!(old_head, new_head);
    assert_eq!(bytes[shard.table.end()..], written[again.table.end()..], "what follows the table");
    let word_count = shard.module_block.length_at;
    assert_eq!(bytes[..word_count], written[..word_count], "what precedes the module's word count");
    assert_eq!(bytes[word_count + 4..old_head], written[word_count + 4..new_head], "what precedes the table's");
}

#[test]
fn places_inside_the_shard_forbid_a_rewrite_but_not_reading() {
    let table = modules(&[b"a.o"]);
    let mut stream = Emitter::new();
    stream.block(8, |module| {
        module.table(&table);
        module.record(13, &[40]);
        module.summaries(&table);
    });
    stream.strtab();
    let shard = Shard::parse(&stream.bytes()).unwrap();
    assert_eq!(shard.rewrite(&table).unwrap_err().what, "the place of a symbol table");
}

#[test]
fn what_cannot_be_accounted_for_is_unreadable() {
    let table = modules(&[b"a.o"]);
    let with = |body: &dyn Fn(&mut Emitter)| {
        let mut stream = Emitter::new();
        stream.block(8, |module| body(module));
        stream.strtab();
        stream.bytes()
    };
    assert_eq!(what(b""), "an empty shard");
    assert_eq!(what(b"\x7fELF"), "no bitcode magic number");
    assert_eq!(what(b"BC\xC0\xDE"), "no module block");
    assert_eq!(what(&with(&|module| module.table(&table))), "no summaries");
    assert_eq!(what(&with(&|module| module.summaries(&[]))), "no module table");
    let twice = with(&|module| (0..2).for_each(|_| module.table(&table)));
    assert_eq!(what(&twice), "a second module table");
    let doubled = with(&|module| module.table(&[table.clone(), table.clone()].concat()));
    assert_eq!(what(&doubled), "a module id for the second time, or too many modules");
    let stranger = with(&|module| {
        module.table(&[]);
        module.summaries(&table);
    });
    assert_eq!(what(&stranger), "a summary of a module that the table does not name");
    let unknown = with(&|module| module.block(19, |inside| inside.record(3, &[1])));
    assert_eq!(what(&unknown), "something in the module table that this version does not know");
    let wide = with(&|module| module.block(19, |inside| inside.record(1, &[0, 256])));
    assert_eq!(what(&wide), "a module path that is not made of bytes");
    let early = with(&|module| module.block(19, |inside| inside.record(2, &[1, 2, 3, 4, 5])));
    assert_eq!(what(&early), "a hash that belongs to no module");
}

#[test]
fn counts_that_cost_nothing_end_well() {
    let record = |count: u64, element: &dyn Fn(&mut Emitter)| {
        let mut stream = Emitter::new();
        stream.block(8, |module| {
            module.id(2);
            module.vbr(3, 5);
            module.literal(77);
            module.encoding(3, None);
            element(module);
            module.id(4);
            module.vbr(count, 6);
        });
        stream.strtab();
        stream.bytes()
    };
    // Each within its block, such records would cost the square of the block's size.
    for count in [0, 1, 10, u64::MAX] {
        let no_bits = "an array of elements that take no bits";
        assert_eq!(what(&record(count, &|module| module.literal(1))), no_bits);
        assert_eq!(what(&record(count, &|module| module.encoding(1, Some(0)))), no_bits);
        assert_eq!(what(&record(count, &|module| module.encoding(2, Some(0)))), no_bits);
    }
    assert_eq!(what(&record(1 << 40, &|module| module.encoding(1, Some(64)))), "a record longer than its block");
    assert_eq!(what(&record(1, &|module| module.encoding(1, Some(65)))), "a field wider than 64 bits");
    let nothing = "a variable-width field whose chunks carry nothing";
    assert_eq!(what(&record(1, &|module| module.encoding(2, Some(1)))), nothing);
}

/// What wraps bitcode on Darwin, and a module that says all we ask.
#[test]
fn facts_of_a_module_in_a_wrapper() {
    let text = |text: &str| text.bytes().map(u64::from).collect::<Vec<u64>>();
    let mut stream = Emitter::new();
    stream.block(8, |module| {
        module.record(2, &text("arm64-apple-macosx"));
        module.record(4, &vec![b'x'.into(); 1 << 17]);
        module.record(16, &text("dir/ä b.c"));
        module.block(12, |function| function.record(1, &[4]));
        module.record(17, &[1, 2, 3, 4, 5]);
    });
    let inner = stream.bytes();
    let mut wrapped = Vec::new();
    for word in [0x0B17_C0DE, 0, 20, inner.len() as u32, 7] {
        wrapped.extend_from_slice(&word.to_le_bytes());
    }
    wrapped.extend_from_slice(&inner);
    wrapped.extend_from_slice(&[0; 12]);
    for bytes in [&inner, &wrapped] {
        let facts = module::facts(bytes).unwrap();
        assert_eq!(facts.source_file, "dir/ä b.c".as_bytes());
        assert_eq!(facts.triple.as_deref(), Some(&b"arm64-apple-macosx"[..]));
        assert_eq!(module::hash(bytes), Some([1, 2, 3, 4, 5]));
    }
    assert_eq!(module::facts(&inner[..inner.len() - 1]), None);
    assert_eq!(module::facts(&wrapped[..100]), None);
    assert_eq!(what(&wrapped), "a shard in a wrapper");
}

#[test]
fn an_error_names_the_place() {
    let bytes = shard(&modules(&[b"a.o"]));
    let error = Shard::parse(&bytes[..bytes.len() - 4]).unwrap_err();
    assert!(error.at_bit > 96 && error.at_bit < bytes.len() as u64 * 8, "{error}");
    let error = Unreadable { what: "a field reaches beyond its block", at_bit: 96 };
    assert_eq!(error.to_string(), "a field reaches beyond its block at byte 12 (bit 96)");
}

#[test]
fn no_flipped_bit_breaks_a_promise() {
    for bytes in [later_version(&modules(&[b"a.o", b"b.o"])), shard(&modules(&["ü.o".as_bytes(), b"b.o"]))] {
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fuzz_shard(&flipped);
            fuzz_module(&flipped);
        }
    }
}
