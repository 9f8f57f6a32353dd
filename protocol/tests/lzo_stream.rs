//! The decompressor on streams made by hand: each kind of instruction, each special case, each kind of fault.

#[path = "support/lzo_stream.rs"]
mod lzo_stream;

use lzo_stream::{Stream, distinct};
use thinbridge_protocol::lzo::{Error, decompress};

/// More than any stream here makes.
const CAP: usize = 1 << 24;

#[track_caller]
fn assert_decodes(stream: &Stream) {
    assert_eq!(decompress(&stream.end(), CAP).as_deref(), Ok(stream.output.as_slice()), "{:02x?}", stream.bytes);
}

#[test]
fn the_end_marker_alone_is_the_empty_stream() {
    assert_eq!(decompress(&[0x11, 0, 0], CAP), Ok(Vec::new()));
    assert_eq!(decompress(&[0x11, 0, 0], 0), Ok(Vec::new()));
}

#[test]
fn any_far_match_16384_bytes_back_is_an_end_marker() {
    for marker in
        [&[0x11, 0, 0][..], &[0x11, 1, 0], &[0x11, 3, 0], &[0x17, 0, 0], &[0x10, 1, 0, 0], &[0x10, 0, 0, 9, 2, 0]]
    {
        assert_eq!(decompress(&[b"\x15abcd", marker].concat(), CAP).as_deref(), Ok(&b"abcd"[..]), "{marker:02x?}");
    }
}

#[test]
fn the_first_byte_copies_literals() {
    for count in 1..=238 {
        assert_decodes(&Stream::first(&distinct(count)));
    }
}

#[test]
fn after_the_first_literals_a_small_byte_means_what_their_number_says() {
    // Up to three: a tiny match of two bytes.
    for count in 1..=3 {
        assert_decodes(&Stream::first(&distinct(count)).tiny(count, false, b""));
    }
    // Four: a tiny match of three bytes, which reaches back 2049 bytes at least.
    let stream = [21, b'a', b'b', b'c', b'd', 0, 0, 0x11, 0, 0];
    assert_eq!(decompress(&stream, CAP), Err(Error::LookBehind { offset: 7, distance: 2049, produced: 4 }));
}

#[test]
fn a_first_byte_up_to_16_is_an_instruction() {
    // 3 + 1 literals.
    assert_eq!(decompress(b"\x01abcd\x11\0\0", CAP).as_deref(), Ok(&b"abcd"[..]));
    // 18 + 2 literals.
    assert_eq!(decompress(b"\0\x02abcdefghijklmnopqrst\x11\0\0", CAP).as_deref(), Ok(&b"abcdefghijklmnopqrst"[..]));
    // A far match whose length has an extension, with nothing to look back on.
    assert!(matches!(decompress(&[16, 1, 4, 0, 0x11, 0, 0], CAP), Err(Error::LookBehind { .. })));
}

#[test]
fn runs_of_every_length() {
    for count in (4..600).chain([4096, 70_000]) {
        assert_decodes(&Stream::default().run(&distinct(count)));
        assert_decodes(&Stream::first(b"abc").near(3, 3, b"").run(&distinct(count)).near(1, 3, b"z"));
    }
}

#[test]
fn tiny_matches_mean_two_things() {
    for distance in [1, 2, 3, 4, 5, 500, 1023, 1024] {
        let start = Stream::default().run(&distinct(2000));
        for literals in [&b"x"[..], b"xy", b"xyz"] {
            let stream = start.clone().near(7, 5, literals);
            assert_decodes(&stream.clone().tiny(distance, false, b""));
            assert_decodes(&stream.tiny(distance, false, b"1").tiny(distance, false, b"123").near(9, 4, b""));
        }
    }
    for distance in [2049, 2050, 2052, 2053, 3000, 3071, 3072] {
        let start = Stream::default().run(&distinct(4000));
        assert_decodes(&start.clone().tiny(distance, true, b""));
        assert_decodes(&start.tiny(distance, true, b"1").tiny(1, false, b"").run(b"again").tiny(distance, true, b"12"));
    }
}

#[test]
fn near_matches() {
    for distance in [1, 2, 7, 8, 9, 15, 16, 17, 255, 256, 2047, 2048] {
        for length in 3..=8 {
            for literals in [&b""[..], b"x", b"xy", b"xyz"] {
                let start = Stream::default().run(&distinct(2048));
                assert_decodes(&start.near(distance, length, literals));
            }
        }
    }
}

#[test]
fn middle_and_far_matches() {
    let start = Stream::default().run(&distinct(50_000));
    for length in [3, 4, 8, 9, 10, 32, 33, 34, 263, 264, 265, 287, 288, 289, 290, 543, 5000] {
        for literals in [&b""[..], b"x", b"xyz"] {
            for distance in [1, 2, 3, 15, 16, 17, 2048, 2049, 16_383, 16_384] {
                assert_decodes(&start.clone().middle(distance, length, literals));
            }
            for distance in [16_385, 16_386, 20_000, 32_767, 32_768, 32_769, 49_150, 49_151] {
                assert_decodes(&start.clone().far(distance, length, literals));
            }
        }
    }
}

#[test]
fn a_match_may_overlap_what_it_makes() {
    for distance in 1..40 {
        for length in (3..100).chain([1000, 100_000]) {
            assert_decodes(&Stream::default().run(&distinct(40)).middle(distance, length, b"end"));
        }
    }
}

#[test]
fn a_stream_that_stops_early_is_refused_wherever_it_stops() {
    let stream = Stream::first(b"abc")
        .tiny(2, false, b"x")
        .near(3, 8, b"")
        .run(&distinct(300))
        .middle(200, 700, b"yz")
        .middle(1, 20_000, b"")
        .far(20_000, 400, b"!")
        .end();
    assert!(decompress(&stream, CAP).is_ok());
    for length in 0..stream.len() {
        assert_eq!(decompress(&stream[..length], CAP), Err(Error::Truncated { length }));
    }
}

#[test]
fn bytes_after_the_end_marker_are_refused() {
    let mut stream = Stream::first(b"hello").end();
    let offset = stream.len();
    stream.push(0);
    assert_eq!(decompress(&stream, CAP), Err(Error::TrailingBytes { offset }));
    stream.extend([0x11, 0, 0]);
    assert_eq!(decompress(&stream, CAP), Err(Error::TrailingBytes { offset }));
}

#[test]
fn a_match_before_the_start_is_refused() {
    let start = Stream::default().run(&distinct(20));
    for stream in [
        start.clone().near(21, 3, b""),
        start.clone().middle(21, 30, b"x"),
        start.clone().middle(16_384, 3, b""),
        start.clone().far(49_151, 3, b""),
        start.clone().tiny(2049, true, b""),
        start.near(20, 3, b"x").tiny(25, false, b""),
    ] {
        let error = decompress(&stream.end(), CAP).expect_err("refused");
        assert!(matches!(error, Error::LookBehind { .. }), "{error:?}");
    }
}

#[test]
fn the_cap_is_exact() {
    for stream in [
        Stream::first(&distinct(100)),
        Stream::default().run(&distinct(1000)),
        Stream::first(b"abcd").middle(4, 100_000, b""),
        Stream::first(b"abcd").middle(4, 100_000, b"xyz"),
        Stream::default().run(&distinct(17_000)).far(16_500, 9000, b"x"),
    ] {
        let (bytes, length) = (stream.end(), stream.output.len());
        assert_eq!(decompress(&bytes, length).as_deref(), Ok(stream.output.as_slice()));
        assert_eq!(decompress(&bytes, usize::MAX).as_deref(), Ok(stream.output.as_slice()));
        for cap in [0, 1, length / 2, length - 1] {
            let error = decompress(&bytes, cap).expect_err("too large");
            assert!(matches!(error, Error::TooLarge { cap: found, .. } if found == cap), "{error:?}");
        }
    }
}

#[test]
fn a_small_hostile_stream_stops_at_the_cap() {
    // A megabyte of length extension announces 267 million bytes.
    let mut long_match = [18, b'a', 32].to_vec();
    long_match.resize(1 << 20, 0);
    long_match.extend([1, 0, 0, 0x11, 0, 0]);
    let cap = 1 << 16;
    assert!(matches!(decompress(&long_match, cap), Err(Error::TooLarge { .. })));

    // Literals that were announced but did not come are no reason to reserve memory for them, whatever the cap.
    let mut long_run = vec![0; 1 << 20];
    long_run.extend([1, b'a', 0x11, 0, 0]);
    let length = long_run.len();
    assert_eq!(decompress(&long_run, usize::MAX), Err(Error::Truncated { length }));

    // Nothing but extension.
    for first in [&[0][..], &[16], &[18, b'a', 32]] {
        let mut endless = first.to_vec();
        endless.resize(1 << 20, 0);
        assert_eq!(decompress(&endless, usize::MAX), Err(Error::Truncated { length: 1 << 20 }), "{first:?}");
    }

    // Many long matches.
    let mut stream = Stream::first(b"ab");
    for _ in 0..50 {
        stream = stream.middle(2, 3000, b"");
    }
    assert!(matches!(decompress(&stream.end(), 100_000), Err(Error::TooLarge { cap: 100_000, .. })));
}

#[test]
fn errors_say_what_and_where() {
    let text = |stream: &[u8], cap| decompress(stream, cap).expect_err("refused").to_string();
    assert_eq!(text(b"", 9), "LZO stream of 0 bytes stops before its end marker");
    assert_eq!(text(&[18, b'a', 0x11, 0, 0, 7], 9), "LZO stream goes on after its end marker, from offset 5");
    assert_eq!(
        text(&[20, b'a', b'b', b'c', 0x11, 0, 0], 2),
        "LZO stream grows beyond the limit of 2 bytes at offset 4"
    );
    assert_eq!(
        text(&[18, b'a', 0x40, 1, 0x11, 0, 0], 9),
        "LZO stream refers 9 bytes back at offset 4, where only 1 bytes were produced"
    );
}
