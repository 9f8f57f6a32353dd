//! The bodies of the fuzz targets: plain functions that panic when something does not hold.
//!
//! `cargo test` runs them over the committed corpus, `fuzz/` lets cargo-fuzz search for more.

use std::fmt::Debug;

use bytes::BytesMut;

use crate::distcc::scan::{Output, allowed_compiler_name, scan};
use crate::distcc::{
    Compressed, Content, Ending, Error, Input, Progress, Request, RequestDecoder, RequestLimits, ResponseDecoder,
    ResponseLimits, Version, hosts,
};

pub use crate::bundle::fuzz::{fuzz_bundle, fuzz_manifest};
#[cfg(feature = "icecream")]
pub use crate::icecream::fuzz::{
    fuzz_channel as fuzz_icecream_channel, fuzz_discovery as fuzz_icecream_discovery, fuzz_file as fuzz_icecream_file,
};
pub use crate::lzo::fuzz::{fuzz_decompress as fuzz_lzo_decompress, fuzz_roundtrip as fuzz_lzo_roundtrip};

/// Plain bytes that a body may have here: small, so that the search is fast.
const CAP: usize = 64 * 1024;

/// The client's bytes as a server sees them. The first byte says in how large pieces they arrive.
pub fn fuzz_distcc_request(data: &[u8]) {
    let Some((&piece, stream)) = data.split_first() else { return };
    let limits = RequestLimits { body: CAP, total: 4 * CAP as u64 };
    let whole = decode_request(stream, stream.len(), limits);
    assert_same(&decode_request(stream, piece.into(), limits), &whole);
    let Ok(Progress::Done(request)) = whole else { return };
    decompress_bodies(&request);
    let again = request.encode().expect("what was received can be sent").concat();
    assert!(again.eq_ignore_ascii_case(stream), "the digits' case is all that may change");
}

/// The server's bytes as a client sees them, up to the connection's end. The first byte says in how large pieces they
/// arrive and in which version the request was sent.
pub fn fuzz_distcc_response(data: &[u8]) {
    let Some((&first, stream)) = data.split_first() else { return };
    let version = Version::from_number(u32::from(first & 3)).expect("there are four versions");
    let limits = ResponseLimits { object: CAP, text: CAP };
    let whole = decode_response(version, stream, stream.len(), limits);
    assert_same(&decode_response(version, stream, usize::from(first >> 2), limits), &whole);
    let Ok(Ending::Complete(response)) = whole else { return };
    let bodies = [Some(&response.stderr), Some(&response.stdout), response.object.as_ref(), response.deps.as_ref()];
    assert!(bodies.into_iter().flatten().all(|body| body.len() <= CAP));
    let again = response.encode().expect("what was received can be sent").concat();
    assert_eq!(decode_response(version, &again, again.len(), limits), Ok(Ending::Complete(response)));
}

/// A host list.
pub fn fuzz_host_list(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match hosts::parse(text) {
        Ok(list) => {
            for host in &list.hosts {
                assert_eq!(hosts::parse(&host.text).map(|list| list.hosts).as_deref(), Ok(std::slice::from_ref(host)));
                assert!(!host.to_string().starts_with('-'));
                assert!((1..=hosts::MAX_SLOTS).contains(&host.slots()));
            }
        }
        Err(error) => {
            let line = text.split('\n').nth(error.line - 1).expect("the line is there");
            let place: String = line.chars().skip(error.column - 1).collect();
            assert!(place.starts_with(&error.token), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}

/// A command line, its arguments separated by zero bytes.
pub fn fuzz_scan(data: &[u8]) {
    let argv: Vec<&[u8]> = data.split(|&byte| byte == 0).collect();
    match scan(&argv) {
        Ok(found) => {
            assert!(found.source < argv.len());
            let output = found.output.map(|(Output::Separate(index) | Output::Joined(index))| index);
            assert!(output.is_none_or(|index| index < argv.len() && index != found.source));
            assert!(argv.contains(&b"-c".as_slice()) || argv.contains(&b"-S".as_slice()));
        }
        Err(refusal) => assert!(refusal.argument.is_none_or(|(index, _)| index < argv.len())),
    }
    let name = argv.first().and_then(|compiler| allowed_compiler_name(compiler));
    assert!(name.is_none_or(|name| !name.contains(&b'/')));
}

fn decode_request(stream: &[u8], piece: usize, limits: RequestLimits) -> Result<Progress<Request>, Error> {
    let mut decoder = RequestDecoder::new(limits);
    let mut input = BytesMut::new();
    let mut progress = decoder.advance(&mut input)?;
    for piece in stream.chunks(piece.max(1)) {
        input.extend_from_slice(piece);
        progress = decoder.advance(&mut input)?;
    }
    Ok(progress)
}

fn decode_response(version: Version, stream: &[u8], piece: usize, limits: ResponseLimits) -> Result<Ending, Error> {
    let mut decoder = ResponseDecoder::new(version, limits);
    let mut input = BytesMut::new();
    for piece in stream.chunks(piece.max(1)) {
        input.extend_from_slice(piece);
        decoder.advance(&mut input)?;
    }
    decoder.at_eof(&mut input)
}

/// The pieces change nothing, except how much of a wrong name or of surplus bytes is seen before it is refused.
fn assert_same<T: Debug + PartialEq>(pieces: &Result<T, Error>, whole: &Result<T, Error>) {
    match (pieces, whole) {
        (Err(Error::Misbehaved(pieces)), Err(Error::Misbehaved(whole))) => assert_eq!(pieces.offset, whole.offset),
        _ => assert_eq!(pieces, whole),
    }
}

fn decompress_bodies(request: &Request) {
    let check = |body: &Compressed| assert!(body.decompress(CAP).map_or(0, |plain| plain.len()) <= CAP);
    match &request.input {
        Input::V0(_) | Input::V1(_) => {}
        Input::V2(source) => check(source),
        Input::V3 { files, .. } => files.iter().for_each(|file| match &file.content {
            Content::Body(body) => check(body),
            Content::Link(_) => {}
        }),
    }
}
