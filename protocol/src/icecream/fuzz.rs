//! The bodies of the fuzz targets: plain functions that panic when something does not hold.

use bytes::{Bytes, BytesMut};

use super::discovery::{self, parse_reply};
use super::{Algorithm, Channel, Error, FileReceiver, Message, Progress, Unsendable, Version, limits, pack_file};

/// A peer's bytes from the start of the connection. The first byte says in how large pieces they arrive, the second one
/// which version is spoken here.
pub fn fuzz_channel(data: &[u8]) {
    let Some((&[piece, version], stream)) = data.split_first_chunk() else { return };
    let own = version_from(version);
    let (whole, error) = receive(own, stream, stream.len());
    let (in_pieces, same_error) = receive(own, stream, piece.into());
    assert_eq!((&whole, &error), (&in_pieces, &same_error));
    assert!(error.is_none_or(|error| !error.to_string().is_empty()));
    let Some(Progress::Send(word)) = whole.first() else { return };
    let agreed = Version::from_number(u32::from_le_bytes(*word)).expect("a version that is understood");
    assert!(agreed <= own);
    for progress in &whole {
        if let Progress::Message(message) = progress {
            check(message, agreed);
        }
    }
}

/// A file of these bytes, on every kind of connection.
pub fn fuzz_file(data: &[u8]) {
    for algorithm in [Algorithm::Lzo, Algorithm::Zstd] {
        let version = if algorithm == Algorithm::Lzo { Version::OLDEST } else { Version::NEWEST };
        let mut receiver = FileReceiver::new(data.len());
        for frame in pack_file(data, algorithm) {
            assert!(frame.len() <= limits::MAX_FRAME_LEN);
            match decode(version, &frame) {
                Message::FileChunk(chunk) => receiver.add(&chunk).expect("it was packed here"),
                other => panic!("{other:?}"),
            }
        }
        assert!(receiver.finish() == data);
    }
}

/// A datagram that came as a reply. The first byte says which version asked.
pub fn fuzz_discovery(data: &[u8]) {
    let Some((&version, datagram)) = data.split_first() else { return };
    let version = version_from(version);
    let Ok(reply) = parse_reply(datagram, version) else { return };
    assert!(!reply.is_better_than(&reply) && reply.is_of(&reply.netname));
    let [asked] = discovery::request(version);
    let Some(again) = reply.encode(asked) else { return };
    let again = parse_reply(&again, version).expect("a reply that was written here");
    assert_eq!((again.version, again.started), (reply.version, reply.started));
    assert!(reply.netname.as_bytes().starts_with(again.netname.as_bytes()));
}

fn version_from(byte: u8) -> Version {
    Version::from_number(30 + u32::from(byte % 15)).expect("30 to 44 are understood")
}

/// All that came, and the error that ended it.
fn receive(own: Version, stream: &[u8], piece: usize) -> (Vec<Progress>, Option<Error>) {
    let mut channel = Channel::new(own);
    let mut input = BytesMut::new();
    let mut seen = Vec::new();
    for piece in stream.chunks(piece.max(1)) {
        input.extend_from_slice(piece);
        loop {
            match channel.advance(&mut input) {
                Ok(Progress::Incomplete) => break,
                Ok(progress) => seen.push(progress),
                Err(error) => return (seen, Some(error)),
            }
        }
    }
    (seen, None)
}

/// What was received can be sent and is the same again; a chunk is no larger than it says.
fn check(message: &Message, version: Version) {
    if let Message::FileChunk(chunk) = message
        && let Ok(plain) = chunk.unpack()
    {
        assert_eq!(plain.len(), chunk.uncompressed());
    }
    match message.encode(version) {
        Ok(frame) => assert_eq!(&decode(version, &frame), message),
        // Strings without any byte get their zero byte.
        Err(refusal) => assert!(matches!(refusal, Unsendable::TooLong { .. }), "{refusal}"),
    }
}

fn decode(version: Version, frame: &Bytes) -> Message {
    Message::decode(version, frame.slice(4..)).unwrap_or_else(|fault| panic!("{fault}"))
}
