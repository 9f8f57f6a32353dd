//! How a connection begins.

use bytes::BytesMut;
use thinbridge_protocol::icecream::{Channel, Error, Fault, Incompatibility, Misbehaviour, Progress};

use crate::frames::version;

fn word(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

/// What a channel of version `own` makes of the words of `peer` one after the other.
fn greet(own: u32, peer: &[[u8; 4]]) -> Result<(Channel, Vec<Progress>), Error> {
    let mut channel = Channel::new(version(own));
    let mut input = BytesMut::from(peer.concat().as_slice());
    let mut seen = Vec::new();
    loop {
        match channel.advance(&mut input)? {
            Progress::Incomplete => return Ok((channel, seen)),
            progress => seen.push(progress),
        }
    }
}

fn fault(error: Error) -> Misbehaviour {
    match error {
        Error::Misbehaved(misbehaviour) => misbehaviour,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_is_in_little_endian_and_the_lesser_version_is_spoken() {
    assert_eq!(Channel::new(version(43)).greeting(), *b"\x2b\0\0\0");
    for (own, peer, agreed) in [(43, 43, 43), (43, 44, 43), (44, 43, 43), (30, 43, 30), (43, 32, 32), (43, 1 << 20, 43)]
    {
        let (channel, seen) = greet(own, &[word(peer), word(agreed)]).unwrap();
        assert_eq!(seen, [Progress::Send(word(agreed)), Progress::Ready], "{own} meets {peer}");
        assert_eq!((channel.version(), channel.peer_maximum()), (Some(version(agreed)), Some(peer)));
    }
}

#[test]
fn the_version_is_known_before_the_peer_confirms_it() {
    let (channel, seen) = greet(43, &[word(39)]).unwrap();
    assert_eq!(seen, [Progress::Send(word(39))]);
    assert_eq!(channel.version(), Some(version(39)));
    assert_eq!(Channel::new(version(43)).version(), None);
}

#[test]
fn messages_may_follow_at_once_and_in_any_pieces() {
    let stream = b"\x2b\0\0\0\x2b\0\0\0\0\0\0\x04\0\0\0\x5b\0\0\0\x04\0\0\0\x43";
    let whole = decode_all(stream, stream.len());
    assert_eq!(whole.len(), 4, "{whole:?}");
    for piece in 1..stream.len() {
        assert_eq!(decode_all(stream, piece), whole, "in pieces of {piece}");
    }
}

fn decode_all(stream: &[u8], piece: usize) -> Vec<Progress> {
    let mut channel = Channel::new(version(43));
    let mut input = BytesMut::new();
    let mut seen = Vec::new();
    for piece in stream.chunks(piece) {
        input.extend_from_slice(piece);
        loop {
            match channel.advance(&mut input).unwrap() {
                Progress::Incomplete => break,
                progress => seen.push(progress),
            }
        }
    }
    assert!(input.is_empty());
    seen
}

#[test]
fn what_is_no_version_is_no_greeting() {
    for found in [word(0), word(20), word((1 << 20) + 1), *b"HTTP", *b"200-", *b"SSH-"] {
        assert_eq!(
            fault(greet(43, &[found]).unwrap_err()),
            Misbehaviour { offset: 0, fault: Fault::NoGreeting { found } }
        );
    }
    let words = greet(43, &[*b"HTTP"]).unwrap_err().to_string();
    assert_eq!(words, "at byte 0: \"HTTP\" is no greeting of an icecream program");
}

#[test]
fn a_peer_that_is_too_old_is_incompatible() {
    for newest in [21, 29] {
        let error = greet(43, &[word(newest)]).unwrap_err();
        assert_eq!(error, Error::Incompatible(Incompatibility::TooOld { newest }));
    }
    let words = greet(43, &[word(29)]).unwrap_err().to_string();
    assert_eq!(words, "the peer speaks protocol version 29 at most, 30 is the oldest known");
}

#[test]
fn the_second_word_has_to_be_the_agreed_version() {
    for found in [42, 44, 0, u32::MAX] {
        let expected = Misbehaviour { offset: 4, fault: Fault::OtherVersion { agreed: version(43), found } };
        assert_eq!(fault(greet(43, &[word(44), word(found)]).unwrap_err()), expected);
    }
    let words = greet(43, &[word(43), word(42)]).unwrap_err().to_string();
    assert_eq!(words, "at byte 4: protocol version 43 was agreed on, 42 was confirmed");
}
