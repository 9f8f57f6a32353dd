//! Every way in which a wrong object can come back.

use crate::bench::{Bench, Phase};
use crate::cases::{Case, try_all, try_all_unblamed};
use crate::support::{Behaviour, Reply, clang, require_farm};

/// The bytes of the ELF header that hold `e_flags`.
const E_FLAGS: std::ops::Range<usize> = 48..52;

/// What reports say of an object that verification refused.
const REFUSED: &str = "a wrong object: ";

fn cases(bench: &Bench, objects: impl IntoIterator<Item = (String, Vec<u8>)>) -> Vec<Case> {
    objects.into_iter().map(|(name, object)| Case::new(name, REFUSED, bench.answer_with(&object))).collect()
}

#[test]
fn an_object_cut_off_anywhere_is_refused() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let length = bench.object.len();
    // The header and the section table whole, and places spread over the rest.
    let places = (0..10).chain((10..length).step_by(length / 80)).chain(length - 10..length);
    let cut: Vec<_> = places.map(|end| (format!("cut at {end}"), bench.object[..end].to_vec())).collect();
    assert!(cut.len() >= 100, "{} places", cut.len());
    try_all(&bench, Phase::Work, &cases(&bench, cut));
}

#[test]
fn an_object_with_any_bit_of_its_header_flipped_is_refused() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let flipped = |bit: usize| {
        let mut object = bench.object.clone();
        object[bit / 8] ^= 1 << (bit % 8);
        (format!("bit {} of byte {}", bit % 8, bit / 8), object)
    };
    let (flags, others): (Vec<usize>, Vec<usize>) = (0..512).partition(|bit| E_FLAGS.contains(&(bit / 8)));
    try_all(&bench, Phase::Work, &cases(&bench, others.into_iter().map(flipped)));
    // On a few machines these differ from module to module.
    try_all_unblamed(&bench, &cases(&bench, flags.into_iter().map(flipped)));
}

#[test]
fn an_object_of_something_else_is_refused() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let mut with_garbage = bench.object.clone();
    with_garbage.extend_from_slice(b"and more");
    let mut with_zeros = bench.object.clone();
    with_zeros.extend_from_slice(&[0; 64]);
    let mut with_itself = bench.object.clone();
    with_itself.extend_from_slice(&bench.object);
    let of_nothing = {
        bench.folder().write("nothing/subject.c", "");
        clang(&bench.folder().join("nothing"), &["-O2", "-c", "subject.c", "-o", "nothing.o"]);
        std::fs::read(bench.folder().join("nothing/nothing.o")).expect("the object")
    };
    let module = std::fs::read(bench.folder().join("subject.o")).expect("the module");
    let objects = [
        ("empty", Vec::new()),
        ("for aarch64", bench.for_target("aarch64-linux-gnu")),
        ("for i386", bench.for_target("i386-linux-gnu")),
        ("for x32", bench.for_target("x86_64-linux-gnux32")),
        ("for Windows", bench.for_target("x86_64-pc-windows-msvc")),
        ("for macOS", bench.for_target("x86_64-apple-macos")),
        ("compiled under a wrong module name", bench.misnamed_object.clone()),
        ("of another job", bench.others_object.clone()),
        ("of an empty source of the same name", of_nothing),
        ("without symbols", without_symbols(&bench.object)),
        ("with garbage behind it", with_garbage),
        ("with zeros behind it", with_zeros),
        ("twice", with_itself),
        ("the bitcode itself", module),
        ("text", b"no object at all\n".to_vec()),
        ("zeros", vec![0; bench.object.len()]),
        ("an archive", [b"!<arch>\n".to_vec(), bench.object.clone()].concat()),
    ];
    let objects = objects.map(|(name, object)| (name.to_owned(), object));
    for phase in [Phase::Canary, Phase::Work] {
        try_all(&bench, phase, &cases(&bench, objects.clone()));
    }
}

/// The symbol table's section is made an unknown one: the rest of the file stays as it was.
fn without_symbols(object: &[u8]) -> Vec<u8> {
    const SHT_SYMTAB: u32 = 2;
    const SHT_PROGBITS: u32 = 1;
    let mut object = object.to_vec();
    let word = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().expect("eight bytes"));
    let (table, count) = (word(40) as usize, u16::from_le_bytes([object[60], object[61]]) as usize);
    let kinds: Vec<usize> = (0..count).map(|section| table + section * 64 + 4).collect();
    let kind = kinds.into_iter().find(|&at| object[at..at + 4] == SHT_SYMTAB.to_le_bytes()).expect("a symbol table");
    object[kind..kind + 4].copy_from_slice(&SHT_PROGBITS.to_le_bytes());
    object
}

/// Each of its names is read and hashed, and again for all that it may have been made from: hours of work, were it done.
#[test]
fn an_object_that_is_too_much_work_is_refused() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let object = with_a_name_for_all(&bench.object, 80_000, 400_000);
    let words = "a wrong object: symbol ";
    for phase in [Phase::Canary, Phase::Work] {
        try_all(&bench, phase, &[Case::new("one name for all", words, bench.answer_with(&object))]);
    }
}

/// The object with `count` symbols more, which share a name of `length` bytes; its tables are moved to its end. It
/// still defines all it should.
fn with_a_name_for_all(object: &[u8], count: usize, length: usize) -> Vec<u8> {
    const SHT_SYMTAB: u64 = 2;
    const GLOBAL_AND_ABSOLUTE: [u8; 4] = [0x10, 0, 0xf1, 0xff];
    let mut object = object.to_vec();
    let word = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().expect("eight bytes"));
    let half_word = |at: usize| word(at) & u64::from(u32::MAX);
    let header = |section: usize| word(40) as usize + section * 64;
    let symbols = (1..).map(header).find(|at| half_word(at + 4) == SHT_SYMTAB).expect("a symbol table");
    let strings = header(half_word(symbols + 40) as usize);
    let contents = |at: usize| object[word(at + 24) as usize..][..word(at + 32) as usize].to_vec();
    let (mut table, mut names) = (contents(symbols), contents(strings));
    let name = (names.len() as u32).to_le_bytes();
    table.extend([&name[..], &GLOBAL_AND_ABSOLUTE, &[0; 16]].concat().repeat(count));
    names.extend(b"a.".repeat(length / 2));
    names.push(0);
    for (header, contents) in [(symbols, table), (strings, names)] {
        let place = (object.len() as u64).to_le_bytes();
        object[header + 24..header + 32].copy_from_slice(&place);
        object[header + 32..header + 40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        object.extend(contents);
    }
    object
}

#[test]
fn the_right_object_with_a_backend_error_beside_it_is_refused() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let texts = [
        "Error loading imported file 'm1' : No such file or directory",
        "Error loading index file 's.bc'",
        "Error running ThinLTO backend",
        "Error setting up ThinLTO save-temps: no room",
    ];
    let cases: Vec<Case> = texts
        .iter()
        .flat_map(|text| {
            [format!("{text}\n"), format!("warning: something\n{text}: more"), format!("clang-22: {text}\n")]
        })
        .map(|stderr| {
            let reply = Reply { stderr: stderr.clone().into_bytes(), ..Reply::success(&bench.object) };
            Case::new(stderr, "the compiler reported a failure and exited 0", Behaviour::Answer(reply.encode()))
        })
        .collect();
    for phase in [Phase::Canary, Phase::Work] {
        try_all(&bench, phase, &cases);
    }
}

#[test]
fn a_compiler_that_fails_there_is_not_believed_whatever_it_sends() {
    if !require_farm() {
        return;
    }
    let bench = Bench::new();
    let reply = |status, stderr: &str, object: Option<&[u8]>| {
        let reply = Reply { status, stderr: stderr.into(), object: object.map(<[u8]>::to_vec), ..Reply::success(b"") };
        Behaviour::Answer(reply.encode())
    };
    let cases = [
        Case::new("status 1, no object", "status 1: words", reply(0x100, "words\n", None)),
        Case::new("status 1, empty object", "status 1", reply(0x100, "", Some(b""))),
        Case::new("status 1 with an object", "although the compiler failed", reply(0x100, "", Some(&bench.object))),
        Case::new("status 70", "status 70", reply(70 << 8, "", None)),
        Case::new("killed", "signal 9", reply(9, "", None)),
        Case::new("killed, with an object", "although the compiler failed", reply(9, "", Some(&bench.object))),
        Case::new("crashed", "signal 11", reply(0x8b, "", None)),
        Case::new("status 0, no object", "there is no object", reply(0, "", None)),
        Case::new("a status beyond 16 bits", "", reply(0xffff_ffff, "", None)),
        Case::new("a high bit of the status", "", reply(0x8000_0000, "", Some(&bench.object))),
    ];
    for phase in [Phase::Canary, Phase::Work] {
        try_all(&bench, phase, &cases);
    }
}
