//! Client and server of the distcc protocol against each other, in pieces of every size.
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use thinbridge_protocol::distcc::{
    Compressed, Content, Ending, File, Input, Progress, Request, RequestDecoder, RequestLimits, Response,
    ResponseDecoder, ResponseLimits, Version, WaitStatus,
};

/// Feeds `stream` in pieces whose lengths are `cuts`, over and over.
fn in_pieces<T>(stream: &[u8], cuts: &[usize], mut advance: impl FnMut(&mut BytesMut) -> Progress<T>) -> Progress<T> {
    let mut input = BytesMut::new();
    let mut rest = stream;
    let mut cuts = cuts.iter().cycle();
    loop {
        let progress = advance(&mut input);
        if rest.is_empty() {
            return progress;
        }
        assert!(matches!(progress, Progress::Incomplete), "complete although {} bytes are missing", rest.len());
        let (piece, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
        input.extend_from_slice(piece);
        rest = later;
    }
}

fn receive_request(stream: &[u8], cuts: &[usize]) -> Request {
    let mut decoder = RequestDecoder::new(RequestLimits::default());
    match in_pieces(stream, cuts, |input| decoder.advance(input).unwrap()) {
        Progress::Done(request) => request,
        Progress::Incomplete => panic!("the request is not complete"),
    }
}

/// Receives a response to its end, which for some is the end of the connection.
fn receive_response(version: Version, stream: &[u8], cuts: &[usize]) -> Response {
    let mut decoder = ResponseDecoder::new(version, ResponseLimits::default());
    let done = in_pieces(stream, cuts, |input| decoder.advance(input).unwrap());
    match (done, decoder.at_eof(&mut BytesMut::new()).unwrap()) {
        (Progress::Done(response), Ending::Complete(again)) => {
            assert_eq!(response, again);
            response
        }
        (Progress::Incomplete, Ending::Complete(response)) => {
            assert!(response.object.is_none() || response.deps.is_none(), "everything came, yet it waited for the end");
            response
        }
        (_, ending) => panic!("{ending:?}"),
    }
}

fn text(chars: &'static str) -> impl Strategy<Value = Bytes> {
    chars.prop_map(Bytes::from)
}

fn body() -> impl Strategy<Value = Bytes> {
    let random = vec(any::<u8>(), 0..3000);
    let repetitive = (vec(any::<u8>(), 1..20), 0..300usize).prop_map(|(unit, times)| unit.repeat(times));
    prop_oneof![Just(Vec::new()), random, repetitive].prop_map(Bytes::from)
}

fn compressed() -> impl Strategy<Value = Compressed> {
    body().prop_map(|plain| Compressed::new(&plain))
}

fn file() -> impl Strategy<Value = File> {
    let content =
        prop_oneof![compressed().prop_map(Content::Body), text("(\\.\\./)?[a-z]{1,9}").prop_map(Content::Link)];
    (text("(/[a-z .]{0,3}[a-z]){1,4}"), content).prop_map(|(name, content)| File { name, content })
}

fn request() -> impl Strategy<Value = Request> {
    let tree = (text("(/[a-z]{0,3}){0,3}"), vec(file(), 0..6)).prop_map(|(cwd, files)| Input::V3 { cwd, files });
    let input =
        prop_oneof![body().prop_map(Input::V0), body().prop_map(Input::V1), compressed().prop_map(Input::V2), tree];
    (vec(text("\\PC{0,12}"), 0..8), input).prop_map(|(argv, input)| Request { argv, input })
}

fn response() -> impl Strategy<Value = Response> {
    let version = prop_oneof![Just(Version::V0), Just(Version::V1), Just(Version::V2), Just(Version::V3)];
    let status =
        prop_oneof![Just(0), Just(0x100), Just(0x8b), Just(0x6e00), any::<u32>()].prop_map(WaitStatus::from_raw);
    let option = proptest::option::of;
    (version, status, body(), body(), option(body()), option(body())).prop_map(
        |(version, status, stderr, stdout, object, deps)| {
            let object = object.map(|object| if status.success() { object } else { Bytes::new() });
            let deps = deps.filter(|_| object.is_some() && status.success() && version == Version::V3);
            Response { version, status, stderr, stdout, object, deps }
        },
    )
}

proptest! {
    #[test]
    fn a_request_arrives_as_it_was_sent(request in request(), cuts in vec(1..2000usize, 1..20)) {
        let encoded = request.encode().unwrap();
        let stream = encoded.concat();
        prop_assert_eq!(encoded.len(), stream.len() as u64);
        prop_assert!(encoded.chunks().iter().all(|chunk| !chunk.is_empty()));
        for cuts in [&cuts[..], &[1], &[stream.len()]] {
            prop_assert_eq!(&receive_request(&stream, cuts), &request);
        }
    }

    #[test]
    fn a_response_arrives_as_it_was_sent(response in response(), cuts in vec(1..2000usize, 1..20)) {
        let stream = response.encode().unwrap().concat();
        for cuts in [&cuts[..], &[1], &[stream.len()]] {
            prop_assert_eq!(&receive_response(response.version, &stream, cuts), &response);
        }
    }

    #[test]
    fn a_request_that_is_cut_anywhere_is_incomplete(request in request(), cut in any::<prop::sample::Index>()) {
        let stream = request.encode().unwrap().concat();
        let mut input = BytesMut::from(&stream[..cut.index(stream.len())]);
        let mut decoder = RequestDecoder::new(RequestLimits::default());
        prop_assert_eq!(decoder.advance(&mut input), Ok(Progress::Incomplete));
    }
}

/// What the end of the connection means after each byte of a response.
#[test]
fn every_place_where_a_response_can_end_is_judged() {
    for version in [Version::V1, Version::V2, Version::V3] {
        let response = Response {
            version,
            status: WaitStatus::SUCCESS,
            stderr: Bytes::from_static(b"warning"),
            stdout: Bytes::new(),
            object: Some(Bytes::from_static(b"object")),
            deps: (version == Version::V3).then(|| Bytes::from_static(b"a.o: a.c")),
        };
        let without_deps = Response { deps: None, ..response.clone() };
        let without_object = Response { object: None, ..without_deps.clone() };
        let length = |response: &Response| response.encode().unwrap().concat().len();
        let stream = response.encode().unwrap().concat();
        for end in 0..=stream.len() {
            let mut decoder = ResponseDecoder::new(version, ResponseLimits::default());
            let ending = decoder.at_eof(&mut BytesMut::from(&stream[..end])).unwrap();
            let whole = [&response, &without_deps, &without_object].into_iter().find(|part| length(part) == end);
            match (ending, whole) {
                (Ending::Silent, None) => assert_eq!(end, 0),
                (Ending::Complete(found), Some(whole)) => assert_eq!(&found, whole),
                (Ending::Truncated { received, .. }, None) => assert_eq!(received, end as u64),
                (ending, whole) => panic!("version {version} after {end} bytes: {ending:?} instead of {whole:?}"),
            }
        }
    }
}
