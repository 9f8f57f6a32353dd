//! What stock programs of version 1.4 sent, as captured for the fuzz corpus.

use std::fs;
use std::path::Path;

use bytes::BytesMut;
use thinbridge_protocol::icecream::{Channel, Progress, Version};

/// What `stream` is, read by a program of version `own`, and written again.
fn again(own: Version, stream: &[u8]) -> Vec<u8> {
    let mut channel = Channel::new(own);
    let mut input = BytesMut::from(stream);
    let mut written = Vec::new();
    loop {
        match channel.advance(&mut input).unwrap() {
            Progress::Incomplete => break,
            Progress::Send(confirmation) => {
                written.extend(channel.peer_maximum().unwrap().to_le_bytes());
                written.extend(confirmation);
            }
            Progress::Ready => {}
            Progress::Message(message) => written.extend(message.encode(channel.version().unwrap()).unwrap()),
        }
    }
    assert!(input.is_empty(), "{} bytes are left", input.len());
    written
}

#[test]
fn what_stock_programs_send_is_understood_and_written_alike() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/icecream_channel");
    let files = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let captured: Vec<_> =
        files.filter(|file| file.file_name().unwrap().as_encoded_bytes().starts_with(b"stock")).collect();
    assert_eq!(captured.len(), 9);
    for file in captured {
        let content = fs::read(&file).unwrap();
        // For the fuzz target: the length of pieces, and the version.
        let (head, stream) = content.split_at(2);
        let own = Version::from_number(30 + u32::from(head[1])).unwrap();
        let written = again(own, stream);
        assert_eq!(written.len(), stream.len(), "{}", file.display());
        // Before version 41 there are two lists of flags, and all that counts is what both of them contain.
        let two_lists = own < Version::from_number(41).unwrap() && file.to_string_lossy().contains("client");
        assert!(written == stream || two_lists, "{}", file.display());
    }
}
