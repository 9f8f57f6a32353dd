//! Frames written by hand, and a channel to put them into.

use bytes::BytesMut;
use thinbridge_protocol::icecream::{Channel, Error, Message, Progress, Version};

/// A number.
pub(crate) fn n(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// A string.
pub(crate) fn s(text: &str) -> Vec<u8> {
    [n(text.len() as u32 + 1), text.as_bytes().to_vec(), vec![0]].concat()
}

/// What is there since a version only.
pub(crate) fn since(version: u32, first: u32, field: Vec<u8>) -> Vec<u8> {
    if version >= first { field } else { Vec::new() }
}

/// A frame of message `number`.
pub(crate) fn frame(number: u32, fields: &[Vec<u8>]) -> Vec<u8> {
    let body = fields.concat();
    [n(body.len() as u32 + 4), n(number), body].concat()
}

pub(crate) fn version(number: u32) -> Version {
    Version::from_number(number).unwrap()
}

pub(crate) fn all_versions() -> impl Iterator<Item = Version> {
    (30..=44).map(version)
}

/// A channel on which `version` has been agreed.
pub(crate) fn channel(version: Version) -> Channel {
    let mut channel = Channel::new(version);
    let word = version.number().to_le_bytes();
    let mut input = BytesMut::from([word, word].concat().as_slice());
    assert_eq!(channel.advance(&mut input), Ok(Progress::Send(word)));
    assert_eq!(channel.advance(&mut input), Ok(Progress::Ready));
    channel
}

/// What the first frame of `bytes` is in `version`; `None` while it is not whole.
pub(crate) fn decode(version: Version, bytes: &[u8]) -> Result<Option<Message>, Error> {
    match channel(version).advance(&mut BytesMut::from(bytes))? {
        Progress::Incomplete => Ok(None),
        Progress::Message(message) => Ok(Some(message)),
        other => panic!("{other:?}"),
    }
}
