//! Wrong frames.

use bytes::BytesMut;
use thinbridge_protocol::icecream::{Error, Fault, Kind};

use crate::frames::{all_versions, channel, decode, frame, n, s, version};

/// The fault found in the first frame of `bytes`, which has to be at its start.
fn fault(bytes: &[u8]) -> Fault {
    match decode(version(43), bytes) {
        Err(Error::Misbehaved(misbehaviour)) => {
            assert_eq!(misbehaviour.offset, 8, "after the greeting");
            misbehaviour.fault
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_length_is_checked_before_the_frame_has_come() {
    assert_eq!(fault(&n((1 << 20) + 1)), Fault::FrameTooLong { length: (1 << 20) + 1 });
    assert_eq!(fault(&n(u32::MAX)), Fault::FrameTooLong { length: u32::MAX });
    assert_eq!(decode(version(43), &n(1 << 20)), Ok(None));
    for length in 0..4 {
        assert_eq!(fault(&n(length)), Fault::FrameTooShort { length });
    }
    assert_eq!(decode(version(43), &n(4)), Ok(None));
}

#[test]
fn unknown_messages() {
    for number in [0, 1, 64, 65, 68, 89, 97, 0x4300_0000, u32::MAX] {
        assert_eq!(fault(&frame(number, &[])), Fault::UnknownMessage { number });
    }
    let old = Fault::NotInVersion { kind: Kind::NoCs, version: version(36) };
    match decode(version(36), &frame(96, &[n(1), n(1)])) {
        Err(Error::Misbehaved(misbehaviour)) => assert_eq!(misbehaviour.fault, old),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fault_is_where_its_frame_begins() {
    let stream = [frame(67, &[]), frame(91, &[]), frame(67, &[n(0)])].concat();
    let mut channel = channel(version(43));
    let mut input = BytesMut::from(stream.as_slice());
    assert!(channel.advance(&mut input).is_ok() && channel.advance(&mut input).is_ok());
    let words = channel.advance(&mut input).unwrap_err().to_string();
    assert_eq!(words, "at byte 24: END goes on for 4 bytes after its end");
}

/// One frame of each kind that has fields, in version 44.
fn whole_frames() -> Vec<Vec<u8>> {
    let ids = [n(1), s("p"), s("e")].concat();
    let numbers = |count| (0..count).flat_map(n).collect::<Vec<u8>>();
    vec![
        frame(69, &[s("c"), n(1), s("x"), s("zstd")]),
        frame(70, &[s("/e")]),
        frame(71, &[ids.clone(), s("f"), n(0), n(1), s("t"), n(0), n(1), s("h"), numbers(5)]),
        frame(72, &[n(1), n(2), s("1.2.3.4"), s("p"), numbers(3)]),
        frame(73, &[n(0), n(1), n(2), s("-a"), s("-b"), s("e"), s("t"), s("c"), s("i"), s("w"), s("o"), n(0)]),
        frame(74, &[n(5), n(5), n(1), b"12345".to_vec()]),
        frame(75, &[s("e"), s("o"), numbers(3)]),
        frame(76, &[numbers(3)]),
        frame(77, &[numbers(12)]),
        frame(78, &[n(1), s("o"), numbers(2)]),
        frame(79, &[n(1)]),
        frame(80, &[numbers(2), ids, s("n"), s("p"), numbers(3)]),
        frame(81, &[numbers(5)]),
        frame(88, &[s("e"), s("t")]),
        frame(90, &[s("t")]),
        frame(92, &[numbers(2), s("")]),
        frame(93, &[s("e"), s("t")]),
        frame(94, &[n(1)]),
        frame(95, &[s("e"), s("t"), s("h")]),
        frame(96, &[numbers(2)]),
    ]
}

#[test]
fn missing_and_surplus_bytes() {
    let newest = version(44);
    for whole in whole_frames() {
        let message = decode(newest, &whole).unwrap().unwrap();
        for length in 4..whole.len() - 4 {
            let cut = [n(length as u32), whole[4..4 + length].to_vec()].concat();
            let error = decode(newest, &cut).unwrap_err();
            assert!(matches!(error, Error::Misbehaved(_)), "{message:?} cut to {length}: {error}");
        }
        for surplus in 1..6 {
            let length = whole.len() - 4 + surplus;
            let longer = [n(length as u32), whole[4..].to_vec(), vec![0; surplus]].concat();
            let error = decode(newest, &longer).unwrap_err().to_string();
            let expected = format!("at byte 8: {} goes on for {surplus} bytes after its end", message.kind());
            assert_eq!(error, expected);
        }
    }
}

#[test]
fn a_frame_of_another_version_is_noticed() {
    // The same request as version 43 has it, read in each older one that has fewer fields.
    let request = &whole_frames()[2];
    let readable: Vec<u32> =
        all_versions().filter(|&v| decode(v, request).is_ok()).map(|version| version.number()).collect();
    assert_eq!(readable, [43, 44]);
}

#[test]
fn strings() {
    // Without its zero byte.
    let bytes = frame(90, &[n(2), b"ab".to_vec()]);
    assert_eq!(fault(&bytes), Fault::Unterminated { kind: Kind::StatusText, field: "text" });
    assert_eq!(fault(&bytes).to_string(), "the text of STATUS_TEXT lacks its final zero byte");
    // Longer than the frame.
    let truncated = Fault::Truncated { kind: Kind::StatusText, field: "text" };
    assert_eq!(fault(&frame(90, &[n(4), b"ab\0".to_vec()])), truncated);
    assert_eq!(fault(&frame(90, &[n(u32::MAX), b"ab\0".to_vec()])), truncated);
    assert_eq!(truncated.to_string(), "STATUS_TEXT ends before or within its text");
}

#[test]
fn strings_end_at_their_first_zero_byte_and_may_have_none() {
    let read = |fields: &[Vec<u8>]| format!("{:?}", decode(version(43), &frame(90, fields)).unwrap());
    assert_eq!(read(&[n(4), b"a\0b\0".to_vec()]), read(&[s("a")]));
    assert_eq!(read(&[n(0)]), read(&[s("")]));
}

#[test]
fn lists_have_no_more_entries_than_bytes() {
    let cases = [
        (frame(69, &[s("c"), n(2), n(0)]), "extra files", 2),
        (frame(73, &[n(0), n(1), n(u32::MAX), s("-a")]), "flags", u32::MAX),
        (frame(80, &[n(1), n(1), n(1 << 31), s("p")]), "environments", 1 << 31),
        (frame(71, &[n(2), s("p"), s("e")]), "environments", 2),
    ];
    for (bytes, list, announced) in cases {
        match fault(&bytes) {
            Fault::TooMany { field, count, .. } => assert_eq!((field, count), (list, announced)),
            other => panic!("{other:?}"),
        }
    }
    let words = fault(&frame(73, &[n(0), n(1), n(9), s("-a")])).to_string();
    assert_eq!(words, "COMPILE_FILE announces 9 flags, more than it has room for");
}

#[test]
fn numbers_without_a_meaning() {
    let cases = [
        (frame(72, &[n(1), n(65536), s("1.2.3.4"), s("p"), n(0), n(0), n(0)]), "65536 is no port for USE_CS"),
        (frame(80, &[n(65536)]), "65536 is no port for LOGIN"),
        (frame(73, &[n(5)]), "5 is no language for COMPILE_FILE"),
        (frame(74, &[n((1 << 20) + 1), n(0), n(1)]), "1048577 is no uncompressed length for FILE_CHUNK"),
        (frame(74, &[n(1), n(1), n(2), vec![0]]), "2 is no algorithm for FILE_CHUNK"),
    ];
    for (bytes, words) in cases {
        assert_eq!(fault(&bytes).to_string(), words);
    }
}

#[test]
fn hosts_are_addresses() {
    for host in ["", "build7", "1.2.3", "::1", "1.2.3.4 ", "\u{1b}[2J"] {
        let found = fault(&frame(72, &[n(1), n(1), s(host), s("p"), n(0), n(0), n(0)]));
        assert!(matches!(found, Fault::BadAddress { kind: Kind::UseCs, .. }), "{found:?}");
        assert!(!found.to_string().contains('\u{1b}'));
    }
}
