//! Files: chunks and END.

use bytes::Bytes;
use thinbridge_protocol::icecream::limits::{CHUNK_LEN, MAX_CHUNK_LEN};
use thinbridge_protocol::icecream::{
    Algorithm, BadChunk, Chunk, FileReceiver, Message, Unsendable, Version, pack_file,
};
use thinbridge_protocol::lzo;

use crate::frames::{all_versions, decode, frame, n, version};

/// The literals `hello`, as LZO1X has them.
const HELLO_LZO: &[u8] = b"\x16hello\x11\0\0";

/// A zstd frame of one raw block, `hello`: magic, a header with one byte of length, the block's header.
const HELLO_ZSTD: &[u8] = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello";

fn chunk(version: Version, bytes: &[u8]) -> Chunk {
    match decode(version, bytes) {
        Ok(Some(Message::FileChunk(chunk))) => chunk,
        other => panic!("{other:?}"),
    }
}

/// A chunk as a peer of version 43 sends it.
fn zstd(uncompressed: u32, data: &[u8]) -> Chunk {
    chunk(version(43), &frame(74, &[n(uncompressed), n(data.len() as u32), n(1), data.to_vec()]))
}

fn lzo(uncompressed: u32, data: &[u8]) -> Chunk {
    chunk(version(43), &frame(74, &[n(uncompressed), n(data.len() as u32), n(0), data.to_vec()]))
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn a_chunk_in_every_version() {
    for version in all_versions() {
        let data = HELLO_LZO.to_vec();
        let bytes =
            if version.number() < 40 { frame(74, &[n(5), n(9), data]) } else { frame(74, &[n(5), n(9), n(0), data]) };
        let read = chunk(version, &bytes);
        assert_eq!((read.algorithm(), read.uncompressed()), (Algorithm::Lzo, 5));
        assert_eq!(read.unpack().unwrap(), "hello");
        assert_eq!(Message::FileChunk(read).encode(version).unwrap(), bytes);
        let usual = if version.number() < 40 { Algorithm::Lzo } else { Algorithm::Zstd };
        assert_eq!(Algorithm::of(version), usual);
    }
    assert_eq!(zstd(5, HELLO_ZSTD).unpack().unwrap(), "hello");
    let packed = Chunk::pack(b"hello", Algorithm::Zstd).unwrap();
    let refusal = Message::FileChunk(packed).encode(version(39)).unwrap_err();
    assert_eq!(refusal, Unsendable::CompressionNotInVersion { version: version(39) });
}

#[test]
fn what_a_chunk_says_and_what_it_is() {
    let short = BadChunk::TooShort { announced: 6, found: 5 };
    assert_eq!(zstd(6, HELLO_ZSTD).unpack(), Err(short));
    assert_eq!(lzo(6, HELLO_LZO).unpack(), Err(short));
    assert_eq!(short.to_string(), "the data of FILE_CHUNK decompresses to 5 bytes, 6 were announced");
    let long = BadChunk::Zstd { announced: 4 };
    assert_eq!(zstd(4, HELLO_ZSTD).unpack(), Err(long));
    assert_eq!(zstd(5, HELLO_LZO).unpack(), Err(BadChunk::Zstd { announced: 5 }));
    assert_eq!(zstd(5, b"").unpack(), Err(short_of(5)));
    assert!(matches!(lzo(4, HELLO_LZO).unpack(), Err(BadChunk::Lzo(lzo::Error::TooLarge { cap: 4, .. }))));
    assert!(matches!(lzo(5, HELLO_ZSTD).unpack(), Err(BadChunk::Lzo(_))));
    assert!(matches!(lzo(5, b"").unpack(), Err(BadChunk::Lzo(_))));
}

fn short_of(announced: usize) -> BadChunk {
    BadChunk::TooShort { announced, found: 0 }
}

#[test]
fn a_small_frame_does_not_become_large() {
    // 64 MiB of one byte, and a frame that promises 4 GiB.
    let bomb = Bytes::from(::zstd::bulk::compress(&vec![7; 64 << 20], 1).unwrap());
    assert_eq!(zstd(MAX_CHUNK_LEN as u32, &bomb).unpack(), Err(BadChunk::Zstd { announced: MAX_CHUNK_LEN }));
    let promise = b"\x28\xb5\x2f\xfd\xe0\0\0\0\0\x01\0\0\0\x29\0\0hello";
    assert_eq!(zstd(5, promise).unpack(), Err(BadChunk::Zstd { announced: 5 }));
    let bomb = lzo::compress(&vec![7; 64 << 20]);
    assert!(matches!(lzo(MAX_CHUNK_LEN as u32, &bomb).unpack(), Err(BadChunk::Lzo(lzo::Error::TooLarge { .. }))));
}

#[test]
fn an_empty_chunk_adds_nothing_whatever_it_contains() {
    let mut receiver = FileReceiver::new(0);
    for chunk in [zstd(0, b""), zstd(0, b"junk"), lzo(0, b""), lzo(0, HELLO_LZO)] {
        receiver.add(&chunk).unwrap();
    }
    assert!(receiver.finish().is_empty());
}

#[test]
fn the_greatest_chunk() {
    for algorithm in [Algorithm::Lzo, Algorithm::Zstd] {
        let zeros = vec![0; MAX_CHUNK_LEN];
        assert_eq!(Chunk::pack(&zeros, algorithm).unwrap().unpack().unwrap(), zeros);
        let refusal = Chunk::pack(&vec![0; MAX_CHUNK_LEN + 1], algorithm).unwrap_err();
        assert_eq!(refusal, Unsendable::ChunkTooLong { length: MAX_CHUNK_LEN + 1 });
        // A chunk of this length that cannot be compressed has no room in a frame.
        let noise = Chunk::pack(&noise(MAX_CHUNK_LEN), algorithm).unwrap();
        assert!(matches!(Message::FileChunk(noise).encode(Version::NEWEST), Err(Unsendable::TooLong { .. })));
    }
}

#[test]
fn a_file_is_packed_into_frames_that_any_receiver_takes() {
    for length in [0, 1, CHUNK_LEN, CHUNK_LEN + 1, 3 * CHUNK_LEN - 1] {
        for content in [vec![0; length], noise(length)] {
            for version in all_versions() {
                let mut receiver = FileReceiver::new(length);
                let frames = pack_file(&content, Algorithm::of(version));
                assert_eq!(frames.len(), length.div_ceil(CHUNK_LEN));
                for frame in frames {
                    receiver.add(&chunk(version, &frame)).unwrap();
                }
                assert_eq!(receiver.received(), length);
                assert!(receiver.finish() == content, "{length} bytes in version {version}");
            }
        }
    }
}

#[test]
fn a_file_does_not_grow_beyond_its_cap() {
    let mut receiver = FileReceiver::new(9);
    receiver.add(&zstd(5, HELLO_ZSTD)).unwrap();
    // What does not fit is not even decompressed.
    let refusal = receiver.add(&zstd(5, b"junk")).unwrap_err();
    assert_eq!(refusal, BadChunk::FileTooLong { cap: 9 });
    assert_eq!(refusal.to_string(), "the file is longer than 9 bytes");
    assert_eq!(receiver.received(), 5);
}
