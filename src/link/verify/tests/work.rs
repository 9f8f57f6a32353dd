//! Objects that would be right, and cost far more work than their size lets one think.

use super::*;

const TOO_LONG: &str = "the names up to here are far longer than the string table";

/// A name of many possible origins.
fn long_name(length: usize) -> Vec<u8> {
    [&b"a.".repeat(length / 2), &b"\0"[..]].concat()
}

fn u32_at(object: &[u8], at: usize) -> usize {
    u32::from_le_bytes(*object[at..].first_chunk().expect("four bytes")) as usize
}

fn u64_at(object: &[u8], at: usize) -> usize {
    u64::from_le_bytes(*object[at..].first_chunk().expect("eight bytes")) as usize
}

fn put(object: &mut [u8], at: usize, bytes: &[u8]) {
    object[at..at + bytes.len()].copy_from_slice(bytes);
}

/// The object with `count` symbols more, which share a name of `length` bytes. Its tables are moved to its end.
fn elf_with_symbols(object: &[u8], count: usize, length: usize) -> Vec<u8> {
    let mut object = object.to_vec();
    let headers = u64_at(&object, 40);
    let header = |section: usize| headers + 64 * section;
    let symbols = (1..).map(header).find(|&at| u32_at(&object, at + 4) == 2).expect("a symbol table");
    let strings = header(u32_at(&object, symbols + 40));
    let contents = |at: usize| object[u64_at(&object, at + 24)..][..u64_at(&object, at + 32)].to_vec();
    let (mut table, mut names) = (contents(symbols), contents(strings));
    let mut symbol = [0; 24];
    put(&mut symbol, 0, &(names.len() as u32).to_le_bytes());
    put(&mut symbol, 4, &[0x10, 0, 0xf1, 0xff]); // global and absolute
    table.extend_from_slice(&symbol.repeat(count));
    names.extend_from_slice(&long_name(length));
    for (at, contents) in [(symbols, table), (strings, names)] {
        let place = (object.len() as u64).to_le_bytes();
        put(&mut object, at + 24, &place);
        put(&mut object, at + 32, &(contents.len() as u64).to_le_bytes());
        object.extend_from_slice(&contents);
    }
    object
}

/// The same of a COFF object, whose tables are at its end.
fn coff_with_symbols(object: &[u8], count: usize, length: usize) -> Vec<u8> {
    let (table, old_count) = (u32_at(object, 8), u32_at(object, 12));
    let (head, mut names) = (&object[..table + 18 * old_count], object[table + 18 * old_count..].to_vec());
    let mut symbol = [0; 18];
    put(&mut symbol, 4, &(names.len() as u32).to_le_bytes());
    put(&mut symbol, 12, &[0xff, 0xff, 0, 0, 2]); // absolute and external
    names.extend_from_slice(&long_name(length));
    let size = (names.len() as u32).to_le_bytes();
    put(&mut names, 0, &size);
    let mut object = [head, &symbol.repeat(count), &names].concat();
    put(&mut object, 12, &((old_count + count) as u32).to_le_bytes());
    object
}

#[test]
fn many_names_in_the_same_bytes_are_refused() {
    for (sample, with_symbols) in
        [(&ELF[0], elf_with_symbols as fn(&[u8], usize, usize) -> Vec<u8>), (&COFF[0], coff_with_symbols)]
    {
        // As much as one long and some short names share in good objects.
        for (count, length) in [(2, 400_000), (80_000, 100), (3, 20_000_000)] {
            assert_eq!(sample.verify(&with_symbols(sample.object, count, length)), Ok(()), "{}", sample.name);
        }
        for (count, length) in [(17, 20_000_000), (80_000, 1_000), (80_000, 400_000)] {
            let verdict = sample.verify(&with_symbols(sample.object, count, length));
            assert!(
                matches!(verdict, Err(Flaw::Symbol { fault: TOO_LONG, .. })),
                "{}, {count} names of {length} bytes: {verdict:?}",
                sample.name
            );
        }
    }
}

#[test]
fn section_names_in_the_same_bytes_are_refused() {
    let sample = &COFF[0];
    let sections = usize::from(u16::from_le_bytes([sample.object[2], sample.object[3]]));
    let mut object = coff_with_symbols(sample.object, 0, 1 << 20);
    let (name, table) = (u32_at(sample.object, sample.object.len() - strings_size(sample.object)), 20);
    for section in 0..sections {
        let reference = format!("/{name}");
        put(&mut object, table + 40 * section, &[0; 8]);
        put(&mut object, table + 40 * section, reference.as_bytes());
    }
    assert_eq!(sample.verify(&object), Ok(()), "{sections} sections");

    // More of them than there are in the sample: empty ones, which move nothing but what is behind the section table.
    let more = 20;
    let entry = {
        let mut entry = object[table..table + 40].to_vec();
        put(&mut entry, 8, &[0; 28]);
        entry
    };
    let behind = table + 40 * sections;
    for section in 0..sections {
        for place in [20, 24, 28] {
            let at = table + 40 * section + place;
            let moved = u32_at(&object, at) + 40 * more;
            put(&mut object, at, &(moved as u32).to_le_bytes());
        }
    }
    let symbols = u32_at(&object, 8) + 40 * more;
    put(&mut object, 8, &(symbols as u32).to_le_bytes());
    put(&mut object, 2, &((sections + more) as u16).to_le_bytes());
    object.splice(behind..behind, entry.repeat(more));
    assert!(matches!(sample.verify(&object), Err(Flaw::Section { fault: TOO_LONG, .. })));
}

/// The size of a COFF object's string table, which ends it.
fn strings_size(object: &[u8]) -> usize {
    object.len() - u32_at(object, 8) - 18 * u32_at(object, 12)
}

/// Many sections with the same relocations would all be walked through, so overlaps have to be found before.
#[test]
fn shared_coff_relocations_are_refused_before_they_are_read() {
    let sample = &COFF[0];
    let mut object = sample.object.to_vec();
    let sections = usize::from(u16::from_le_bytes([object[2], object[3]]));
    let headers: Vec<usize> = (0..sections).map(|section| 20 + 40 * section).collect();
    let relocated = |at: &usize| object[at + 32..at + 34] != [0, 0];
    let one = *headers.iter().find(|at| relocated(at)).expect("relocations");
    let other = *headers.iter().find(|&&at| at != one).expect("another section");
    let (place, count) = (object[one + 24..one + 28].to_vec(), object[one + 32..one + 34].to_vec());
    // The first of them is damaged, which would be told had it been read.
    put(&mut object, u32_at(sample.object, one + 24) + 4, &[0xff; 4]);
    assert!(matches!(sample.verify(&object), Err(Flaw::Relocation { .. })));
    put(&mut object, other + 24, &place);
    put(&mut object, other + 32, &count);
    assert!(matches!(sample.verify(&object), Err(Flaw::Overlap { .. })), "{:?}", sample.verify(&object));
}
