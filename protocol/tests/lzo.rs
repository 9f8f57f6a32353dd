//! The compressor: what it writes comes back, fits its bound, and is understood by liblzo2. And the decompressor on
//! what liblzo2 writes, and on damage.

#[path = "support/liblzo2.rs"]
mod liblzo2;
#[path = "support/lzo_stream.rs"]
mod lzo_stream;

use liblzo2::Liblzo2;
use lzo_stream::{Stream, distinct};
use proptest::collection::vec;
use proptest::prelude::*;
use thinbridge_protocol::lzo::{Error, compress, compress_into, compressed_bound, decompress};

/// Compresses and decompresses, and where liblzo2 is at hand, has it do the same.
#[track_caller]
fn assert_round_trip(data: &[u8], liblzo2: Option<&Liblzo2>) {
    let stream = compress(data);
    assert!(stream.len() <= compressed_bound(data.len()), "{} bytes became {}", data.len(), stream.len());
    assert!(decompress(&stream, data.len()).as_deref() == Ok(data), "our stream for {} bytes", data.len());
    let Some(liblzo2) = liblzo2 else { return };
    assert!(liblzo2.decompress(&stream, data.len()).as_deref() == Ok(data), "liblzo2 reads ours, {} bytes", data.len());
    let theirs = liblzo2.compress(data);
    assert!(decompress(&theirs, data.len()).as_deref() == Ok(data), "we read liblzo2's, {} bytes", data.len());
}

/// Pseudo-random bytes (xorshift) that no compressor makes smaller.
fn random(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn the_empty_input_is_the_end_marker() {
    assert_eq!(compress(b""), [0x11, 0, 0]);
}

#[test]
fn every_small_length() {
    let liblzo2 = Liblzo2::load();
    let (noise, mixed) = (random(3000), mixed(3000));
    for length in 0..=3000 {
        assert_round_trip(&noise[..length], liblzo2.as_ref());
        assert_round_trip(&mixed[..length], liblzo2.as_ref());
        assert_round_trip(&vec![0; length], liblzo2.as_ref());
    }
}

/// Noise with repetitions in between.
fn mixed(length: usize) -> Vec<u8> {
    let noise = random(length);
    let mut data = Vec::with_capacity(length);
    while data.len() < length {
        data.extend(noise.iter().skip(data.len()).take(data.len() % 37 + 3));
        data.extend_from_within(data.len() / 3..data.len() / 3 + data.len() % 41 / 2);
    }
    data.truncate(length);
    data
}

#[test]
fn runs_around_every_boundary_of_their_length() {
    let liblzo2 = Liblzo2::load();
    for run in
        (0..40).chain(230..280).chain(500..560).chain([4000, 4096, 4200, 20_000, 49_151, 49_152, 49_153, 200_000])
    {
        let noise = random(run);
        // At the start, between two matches, and at the end.
        assert_round_trip(&[noise.as_slice(), &[b'x'; 100]].concat(), liblzo2.as_ref());
        assert_round_trip(&[&[b'x'; 100], noise.as_slice(), &[b'x'; 100]].concat(), liblzo2.as_ref());
        assert_round_trip(&[&[b'x'; 100], noise.as_slice()].concat(), liblzo2.as_ref());
    }
}

#[test]
fn matches_around_every_boundary_of_length_and_distance() {
    let liblzo2 = Liblzo2::load();
    let noise = random(60_000);
    for distance in
        [1, 2, 3, 8, 0x7ff, 0x800, 0x801, 0x3fff, 0x4000, 0x4001, 0x7fff, 0x8000, 0xbffe, 0xbfff, 0xc000, 0xc001]
    {
        for length in (4..12).chain(30..36).chain([60, 263, 264, 265, 287, 288, 289, 543, 8000]) {
            let mut data = noise[..distance].to_vec();
            for at in 0..length {
                data.push(data[at]);
            }
            data.extend(&noise[50_000..50_000 + length % 50]);
            assert_round_trip(&data, liblzo2.as_ref());
        }
    }
}

#[test]
fn long_repetitions_are_small() {
    let liblzo2 = Liblzo2::load();
    for length in [49_152, 100_000, 1 << 20, 10_000_000] {
        let zeros = vec![0; length];
        assert_round_trip(&zeros, liblzo2.as_ref());
        assert!(compress(&zeros).len() <= length / 255 + 32);
    }
}

#[test]
fn what_cannot_be_compressed_grows_by_less_than_stock_distcc_allows() {
    for length in (0..3000).chain([48 << 10, 1 << 20, 5_000_000]) {
        let stream = compress(&random(length));
        assert!(stream.len() <= compressed_bound(length));
        assert!(compressed_bound(length) <= length + length / 64 + 19);
    }
}

#[test]
fn matches_that_hardly_pay_do_not_break_the_bound() {
    // Four bytes that stand 0x1000 back already, then a run whose length takes two bytes, again and again: a match for
    // the four bytes saves one byte and costs two. Once from the start, once after something that was compressed well.
    let noise = random(1 << 16);
    let mut data = noise[..0x1000].to_vec();
    for (number, fresh) in noise[0x1000..].chunks_exact(19).enumerate() {
        data.extend_from_within(number * 4..number * 4 + 4);
        data.extend(fresh);
    }
    for prefix in [&[][..], &[0; 600], &[0; 6000]] {
        let data = [prefix, &data].concat();
        assert_round_trip(&data, Liblzo2::load().as_ref());
    }
}

#[test]
fn compress_into_appends() {
    let data = mixed(10_000);
    let mut out = b"before".to_vec();
    compress_into(&data, &mut out);
    assert_eq!(out, [b"before", compress(&data).as_slice()].concat());
}

#[test]
fn real_bytes_become_as_small_as_with_liblzo2() {
    let Some(liblzo2) = Liblzo2::load() else { return };
    let program = std::fs::read(std::env::current_exe().expect("this test's own path")).expect("this test's own file");
    let program = &program[..program.len().min(8 << 20)];
    assert_round_trip(program, Some(&liblzo2));
    let (ours, theirs) = (compress(program).len(), liblzo2.compress(program).len());
    assert!(ours * 10 <= theirs * 11, "{ours} bytes, liblzo2 {theirs}");
}

#[test]
fn damaged_streams_are_never_too_large_and_read_like_liblzo2_reads_them() {
    let liblzo2 = Liblzo2::load();
    let mut sound = vec![compress(&mixed(700)), compress(&[b"to be or not to be, ".as_slice(); 8].concat())];
    sound.extend(liblzo2.as_ref().map(|liblzo2| liblzo2.compress(&mixed(600))));
    sound.push(
        Stream::first(b"abc")
            .tiny(1, false, b"x")
            .run(&distinct(2500))
            .tiny(2100, true, b"y")
            .middle(9, 400, b"")
            .end(),
    );
    for stream in sound {
        for bit in 0..stream.len() * 8 {
            let mut damaged = stream.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_agreement(&damaged, liblzo2.as_ref());
        }
        for length in 0..stream.len() {
            assert_agreement(&stream[..length], liblzo2.as_ref());
        }
    }
}

/// What `decompress` makes of any bytes: never more than the cap, and the same as liblzo2.
#[track_caller]
fn assert_agreement(stream: &[u8], liblzo2: Option<&Liblzo2>) {
    const CAP: usize = 20_000;
    let ours = decompress(stream, CAP);
    if let Ok(output) = &ours {
        assert!(output.len() <= CAP);
    }
    if let Some(liblzo2) = liblzo2 {
        let theirs = liblzo2.decompress(stream, CAP);
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "{stream:02x?}"),
            (Err(_), Err(_)) => {}
            _ => panic!("{:?} here, {:?} there: {stream:02x?}", ours.map(|o| o.len()), theirs.map(|o| o.len())),
        }
    }
}

/// Bytes as programs have them: noise, repetitions of what came before, and long stretches of one byte.
fn any_data() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        vec(any::<u8>(), 0..300).prop_map(Piece::Fresh),
        vec(0..4_u8, 0..300).prop_map(Piece::Fresh),
        (any::<u16>(), 0..600_usize).prop_map(|(back, length)| Piece::Again { back: back.into(), length }),
        (any::<u8>(), 0..70_000_usize).prop_map(|(byte, length)| Piece::Same { byte, length }),
    ];
    vec(piece, 0..40).prop_map(|pieces| {
        let mut data = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Fresh(bytes) => data.extend(bytes),
                Piece::Again { back, length } => {
                    for _ in 0..length {
                        data.push(data.len().checked_sub(back + 1).map_or(7, |at| data[at]));
                    }
                }
                Piece::Same { byte, length } => data.resize(data.len() + length, byte),
            }
        }
        data
    })
}

#[derive(Clone, Debug)]
enum Piece {
    Fresh(Vec<u8>),
    Again { back: usize, length: usize },
    Same { byte: u8, length: usize },
}

/// Any valid stream, most of which no compressor would write.
fn any_stream() -> impl Strategy<Value = Stream> {
    let literals = || vec(any::<u8>(), 0..=3);
    let step = prop_oneof![
        vec(any::<u8>(), 4..400).prop_map(Step::Run),
        (1..=3072_usize, literals()).prop_map(|(distance, literals)| Step::Tiny { distance, literals }),
        (1..=2048_usize, 3..=8_usize, literals()).prop_map(|(distance, length, literals)| Step::Match {
            distance,
            length,
            literals
        }),
        (1..=49_151_usize, 3..2000_usize, literals()).prop_map(|(distance, length, literals)| Step::Match {
            distance,
            length,
            literals
        }),
    ];
    (vec(any::<u8>(), 1..=238), vec(step, 0..60)).prop_map(|(first, steps)| {
        let mut stream = Stream::first(&first);
        let mut before = first.len().min(4);
        for step in steps {
            (stream, before) = step.append(stream, before);
        }
        stream
    })
}

#[derive(Clone, Debug)]
enum Step {
    Run(Vec<u8>),
    Tiny { distance: usize, literals: Vec<u8> },
    Match { distance: usize, length: usize, literals: Vec<u8> },
}

impl Step {
    /// Adds itself if it can stand here: `before` is the number of literals before it, 4 for a run. Gives the new one.
    fn append(self, stream: Stream, before: usize) -> (Stream, usize) {
        let produced = stream.output.len();
        match self {
            Self::Run(literals) if before == 0 => (stream.run(&literals), 4),
            Self::Tiny { distance, literals } if before == 4 && (2049..=produced).contains(&distance) => {
                (stream.tiny(distance, true, &literals), literals.len())
            }
            Self::Tiny { distance, literals } if (1..4).contains(&before) => {
                (stream.tiny(distance.min(1024).min(produced), false, &literals), literals.len())
            }
            Self::Match { distance, length, literals } => {
                let distance = distance.min(produced);
                let stream = match (distance, length) {
                    (..=2048, 3..=8) => stream.near(distance, length, &literals),
                    (..=16_384, _) => stream.middle(distance, length, &literals),
                    _ => stream.far(distance, length, &literals),
                };
                (stream, literals.len())
            }
            _ => (stream, before),
        }
    }
}

/// Bytes at which the meaning of an instruction changes.
const TELLING: [u8; 20] = [0, 0, 0, 1, 2, 4, 15, 16, 16, 17, 17, 18, 21, 24, 31, 32, 33, 64, 128, 255];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_data_comes_back(data in any_data()) {
        assert_round_trip(&data, Liblzo2::load().as_ref());
    }

    #[test]
    fn any_valid_stream_is_understood(stream in any_stream(), cut in any::<usize>()) {
        let (bytes, length) = (stream.end(), stream.output.len());
        assert_eq!(decompress(&bytes, length).as_deref(), Ok(stream.output.as_slice()));
        assert_eq!(decompress(&bytes, length - 1).map_err(|error| matches!(error, Error::TooLarge { .. })), Err(true));
        let cut = cut % bytes.len();
        assert_eq!(decompress(&bytes[..cut], length), Err(Error::Truncated { length: cut }));
        if let Some(liblzo2) = Liblzo2::load() {
            assert_eq!(liblzo2.decompress(&bytes, length).as_deref(), Ok(stream.output.as_slice()));
        }
    }

    #[test]
    fn any_damage_is_read_like_liblzo2_reads_it(
        stream in any_stream(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = stream.end();
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        assert_agreement(&bytes, Liblzo2::load().as_ref());
    }

    #[test]
    fn any_bytes_at_all_are_read_like_liblzo2_reads_them(
        bytes in prop_oneof![vec(any::<u8>(), 0..300), vec(prop::sample::select(TELLING.as_slice()), 0..30)],
    ) {
        assert_agreement(&bytes, Liblzo2::load().as_ref());
    }
}
