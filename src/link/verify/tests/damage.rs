//! Good objects, spoiled.

use super::*;

/// The header's size by class.
fn header_size(object: &[u8]) -> usize {
    if object[4] == 2 { 64 } else { 52 }
}

#[test]
fn every_bit_of_the_elf_header_counts() {
    for sample in ELF {
        for bit in 0..8 * header_size(sample.object) {
            let mut object = sample.object.to_vec();
            object[bit / 8] ^= 1 << (bit % 8);
            assert!(sample.verify(&object).is_err(), "{}: bit {} of byte {}", sample.name, bit % 8, bit / 8);
        }
    }
}

#[test]
fn the_header_counts_without_a_local_object_too() {
    // Machines whose flags follow from the target alone.
    for sample in ELF.iter().filter(|sample| !matches!(sample.name, "riscv64.o" | "mips64el.o" | "s390x.o")) {
        let expected = Expected { flags: None, ..sample.expected() };
        for bit in 0..8 * header_size(sample.object) {
            let mut object = sample.object.to_vec();
            object[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&object, &expected, b"").is_err(), "{}: byte {}", sample.name, bit / 8);
        }
    }
}

#[test]
fn a_cut_anywhere_is_noticed() {
    for sample in samples() {
        for length in 0..sample.object.len() {
            let verdict =
                verify(&sample.object[..length], &Expected { definitions: &NoDefinitions, ..sample.expected() }, b"");
            assert!(verdict.is_err(), "{} cut at {length}", sample.name);
        }
    }
}

#[test]
fn bytes_behind_the_end_are_noticed() {
    for sample in samples() {
        for tail in [&b"\0"[..], b"\0\0\0\0\0\0\0\0", b"x", sample.object] {
            let object = [sample.object, tail].concat();
            assert_eq!(sample.verify(&object), Err(Flaw::Trailing { bytes: tail.len() as u64 }), "{}", sample.name);
        }
    }
}

#[test]
fn a_hole_or_doubled_bytes_are_noticed() {
    for sample in samples() {
        for length in [1, 8, 16, 64] {
            for start in (0..sample.object.len() - length).step_by(7) {
                let (head, tail) = sample.object.split_at(start);
                assert!(sample.verify(&[head, &tail[length..]].concat()).is_err(), "{}: hole at {start}", sample.name);
                let doubled = [head, &tail[..length], tail].concat();
                assert!(sample.verify(&doubled).is_err(), "{}: doubled at {start}", sample.name);
            }
        }
    }
}

#[test]
fn no_single_byte_makes_it_panic() {
    for sample in samples() {
        let unknown = Expected { target: Target::Unknown, flags: None, ..sample.expected() };
        let mut object = sample.object.to_vec();
        for at in 0..object.len() {
            let byte = object[at];
            for other in [byte ^ 1, 0xff] {
                object[at] = other;
                let _ = sample.verify(&object);
                let _ = verify(&object, &unknown, b"");
            }
            object[at] = byte;
        }
        assert_eq!(sample.verify(&object), Ok(()));
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), start in 0..6_usize) {
        let starts: [&[u8]; 6] =
            [b"", b"\x7fELF", b"\x7fELF\x02\x01\x01", b"\x7fELF\x01\x02\x01", b"\x64\x86", b"\0\0\xff\xff\x02\0\x64\x86"];
        let object = [starts[start], &bytes].concat();
        for sample in [&ELF[0], &ELF[3], &COFF[0]] {
            let verdict = sample.verify(&object);
            prop_assert!(verdict.is_err());
            let unknown = Expected { target: Target::Unknown, flags: None, ..sample.expected() };
            prop_assert!(verify(&object, &unknown, &bytes).is_err());
        }
    }

    #[test]
    fn no_set_of_bytes_makes_it_panic(
        which in 0..ELF.len() + COFF.len(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let sample = samples().nth(which).expect("in range");
        let mut object = sample.object.to_vec();
        for (at, byte) in changes {
            object[at.index(sample.object.len())] = byte;
        }
        let _ = sample.verify(&object);
        let unknown = Expected { target: Target::Unknown, flags: None, ..sample.expected() };
        let _ = verify(&object, &unknown, b"");
    }
}
