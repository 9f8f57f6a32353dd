//! The bytes of the distcc protocol, and what each end makes of wrong ones.
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

use bytes::{Bytes, BytesMut};
use thinbridge_protocol::distcc::{
    BadString, Compressed, Content, Ending, Error, Fault, File, Incompatibility, Input, Progress, Request,
    RequestDecoder, RequestLimits, Response, ResponseDecoder, ResponseLimits, Token, Unsendable, Version, WaitStatus,
    limits,
};

fn argv(words: &[&'static str]) -> Vec<Bytes> {
    words.iter().map(|word| Bytes::from_static(word.as_bytes())).collect()
}

fn file(name: &'static str, content: Content) -> File {
    File { name: Bytes::from_static(name.as_bytes()), content }
}

fn tree(cwd: &'static str, files: Vec<File>) -> Request {
    let input = Input::V3 { cwd: Bytes::from_static(cwd.as_bytes()), files };
    Request { argv: argv(&["clang-22", "-c", "a.c"]), input }
}

fn decode_request(stream: &[u8]) -> Result<Progress<Request>, Error> {
    RequestDecoder::new(RequestLimits::default()).advance(&mut BytesMut::from(stream))
}

fn decode_response(version: Version, stream: &[u8]) -> Result<Ending, Error> {
    let limits = ResponseLimits { object: 1000, text: 100 };
    ResponseDecoder::new(version, limits).at_eof(&mut BytesMut::from(stream))
}

fn words(error: Error) -> String {
    error.to_string()
}

#[test]
fn a_request_has_the_bytes_that_stock_servers_know() {
    let source = Bytes::from_static(b"int x;");
    let request = |input| Request { argv: argv(&["cc", "-c", "a.c"]), input }.encode().unwrap().concat();
    let command = "ARGC00000003ARGV00000002ccARGV00000002-cARGV00000003a.c";
    assert_eq!(request(Input::V1(source.clone())), format!("DIST00000001{command}DOTI00000006int x;").as_bytes());
    let files = vec![
        file("/w/a.c", Content::Body(Compressed::from_wire(source))),
        file("/w/empty", Content::Body(Compressed::new(b""))),
        file("/w/l", Content::Link(Bytes::from_static(b"a.c"))),
    ];
    let expected = format!(
        "DIST00000003CDIR00000002/w{command}NFIL00000003NAME00000006/w/a.cFILE00000006int x;NAME00000008/w/empty\
         FILE00000000NAME00000004/w/lLINK00000003a.c"
    );
    assert_eq!(request(Input::V3 { cwd: Bytes::from_static(b"/w"), files }), expected.as_bytes());
}

#[test]
fn large_bodies_are_lent_and_small_items_share_a_chunk() {
    let noise: Vec<u8> = (0u32..20_000).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let module = Compressed::new(&noise);
    let files = |names: &[&'static str]| names.iter().map(|name| file(name, Content::Body(module.clone()))).collect();
    let encoded = tree("/w", files(&["/w/a", "/w/b"])).encode().unwrap();
    let lent: Vec<_> = encoded.chunks().iter().map(|chunk| chunk.as_ptr() == module.as_wire().as_ptr()).collect();
    assert_eq!(lent, [false, true, false, true]);
    let small = vec![file("/w/a", Content::Body(Compressed::new(b"x"))); 9];
    assert_eq!(tree("/w", small).encode().unwrap().chunks().len(), 1);
}

#[test]
fn a_response_has_the_bytes_that_stock_clients_know() {
    let response = Response {
        version: Version::V1,
        status: WaitStatus::exited(1),
        stderr: Bytes::from_static(b"no"),
        stdout: Bytes::new(),
        object: Some(Bytes::new()),
        deps: None,
    };
    let stream = b"DONE00000001STAT00000100SERR00000002noSOUT00000000DOTO00000000";
    assert_eq!(response.encode().unwrap().concat(), stream);
    assert_eq!(decode_response(Version::V1, stream), Ok(Ending::Complete(response)));
}

#[test]
fn version_0_is_answered_with_0() {
    let stream = b"DIST00000000ARGC00000001ARGV00000002ccDOTI00000001x";
    let Ok(Progress::Done(request)) = decode_request(stream) else { panic!("not decoded") };
    assert_eq!((request.version(), request.input), (Version::V0, Input::V0(Bytes::from_static(b"x"))));
    let unknown = Incompatibility::UnknownVersion { asked: 4 };
    assert_eq!(decode_request(b"DIST00000004"), Err(Error::Incompatible(unknown)));
}

#[test]
fn a_server_in_another_version_is_incompatible() {
    let error = decode_response(Version::V3, b"DONE00000001STAT00000000").unwrap_err();
    assert_eq!(error, Error::Incompatible(Incompatibility::OtherVersion { asked: 3, answered: 1 }));
    assert_eq!(words(error), "protocol version 3 was asked for, 1 was answered");
}

#[test]
fn breaches_of_a_server_are_named_with_their_place() {
    let v1 = |stream: &str| words(decode_response(Version::V1, stream.as_bytes()).unwrap_err());
    let start = "DONE00000001STAT00000000SERR00000000SOUT00000000";
    assert_eq!(v1("SSH-2.0-OpenSSH_9.2"), "at byte 0: expected DONE, found \"SSH-\"");
    assert_eq!(v1("DONE00000001DOTO00000000"), "at byte 12: expected STAT, found \"DOTO\"");
    assert_eq!(v1("DONE00000001STAT0x000000"), "at byte 12: STAT needs eight hexadecimal digits, found \"0x000000\"");
    assert_eq!(v1(&format!("{start}DOTO000003e9")), "at byte 48: DOTO announces 1001 bytes, at most 1000 are taken");
    assert_eq!(
        v1("DONE00000001STAT00000000SERRffffffff"),
        "at byte 24: SERR announces 4294967295 bytes, at most 100 are taken"
    );
    assert_eq!(v1(&format!("{start}DOTO00000001xyz")), "at byte 61: 2 bytes came after the end");
    assert_eq!(
        v1("DONE00000001STAT0000000bSERR00000000SOUT00000000DOTO00000001x"),
        "at byte 48: an object of 1 bytes came although the compiler failed (signal 11)"
    );
}

#[test]
fn dependencies_come_only_in_version_3_and_after_success() {
    for (version, status) in [(1, 0), (2, 0), (3, 0x100)] {
        let stream = format!("DONE{version:08x}STAT{status:08x}SERR00000000SOUT00000000DOTO00000000DOTD00000000");
        let error = decode_response(Version::from_number(version).unwrap(), stream.as_bytes()).unwrap_err();
        assert_eq!(words(error), "at byte 60: 12 bytes came after the end");
    }
}

#[test]
fn bodies_that_do_not_decompress_or_grow_too_large_are_refused() {
    let answer = |object: &[u8]| {
        let mut stream = b"DONE00000002STAT00000000SERR00000000SOUT00000000DOTO".to_vec();
        stream.extend_from_slice(format!("{:08x}", object.len()).as_bytes());
        stream.extend_from_slice(object);
        decode_response(Version::V2, &stream)
    };
    let whole = Compressed::new(&[7; 1000]);
    assert!(matches!(answer(whole.as_wire()), Ok(Ending::Complete(_))));
    let bomb = Compressed::new(&[7; 1001]);
    assert!(bomb.wire_len() < 100, "the cap that counts must be the one on plain bytes");
    for bad in [&bomb.as_wire()[..], &whole.as_wire()[1..], b"\0", b"no LZO at all"] {
        match answer(bad) {
            Err(Error::Misbehaved(breach)) => {
                assert!(matches!(breach.fault, Fault::BadBody { token: Token::Doto, .. }), "{breach}");
                assert_eq!(breach.offset, 48);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn strings_that_no_server_may_act_on_are_refused_by_both_ends() {
    let link = |target: &'static str| Content::Link(Bytes::from_static(target.as_bytes()));
    let empty = || Content::Body(Compressed::default());
    let table = [
        (tree("w", vec![]), Token::Cdir, BadString::NotAbsolute),
        (tree("/w/../..", vec![]), Token::Cdir, BadString::ParentFolder),
        (tree("/\0", vec![]), Token::Cdir, BadString::ZeroByte),
        (tree("/w", vec![file("w/a", empty())]), Token::Name, BadString::NotAbsolute),
        (tree("/w", vec![file("", empty())]), Token::Name, BadString::NotAbsolute),
        (tree("/w", vec![file("/w/../../etc/x", empty())]), Token::Name, BadString::ParentFolder),
        (tree("/w", vec![file("/..", empty())]), Token::Name, BadString::ParentFolder),
        (tree("/w", vec![file("/w/", empty())]), Token::Name, BadString::NotAFile),
        (tree("/w", vec![file("/w/a\0b", empty())]), Token::Name, BadString::ZeroByte),
        (tree("/w", vec![file("/w/a", link("a\0b"))]), Token::Link, BadString::ZeroByte),
        (tree("/w", vec![file("/w/a", link(""))]), Token::Link, BadString::Empty),
        (Request { argv: argv(&["cc\0"]), input: Input::V1(Bytes::new()) }, Token::Argv, BadString::ZeroByte),
    ];
    for (request, token, reason) in table {
        assert_eq!(request.encode(), Err(Unsendable::BadString { token, reason }));
        match decode_request(&by_hand(&request)) {
            Err(Error::Misbehaved(breach)) => assert_eq!(breach.fault, Fault::BadString { token, reason }),
            other => panic!("{request:?}: {other:?}"),
        }
    }
    for fine in
        [tree("", vec![]), tree("/", vec![]), tree("/w", vec![file("/w/..a/b..", empty()), file("/w/l", link("../a"))])]
    {
        assert_eq!(decode_request(&by_hand(&fine)), Ok(Progress::Done(fine)));
    }
}

/// Encodes without any check.
fn by_hand(request: &Request) -> Vec<u8> {
    let number = |token: &str, value: usize| format!("{token}{value:08x}").into_bytes();
    let item = |token: &str, body: &[u8]| [&number(token, body.len()), body].concat();
    let mut parts = vec![number("DIST", request.version().number() as usize)];
    if let Input::V3 { cwd, .. } = &request.input {
        parts.push(item("CDIR", cwd));
    }
    parts.push(number("ARGC", request.argv.len()));
    parts.extend(request.argv.iter().map(|argument| item("ARGV", argument)));
    match &request.input {
        Input::V0(source) | Input::V1(source) => parts.push(item("DOTI", source)),
        Input::V2(source) => parts.push(item("DOTI", source.as_wire())),
        Input::V3 { files, .. } => {
            parts.push(number("NFIL", files.len()));
            for file in files {
                parts.push(item("NAME", &file.name));
                parts.push(match &file.content {
                    Content::Body(body) => item("FILE", body.as_wire()),
                    Content::Link(target) => item("LINK", target),
                });
            }
        }
    }
    parts.concat()
}

#[test]
fn a_server_takes_nothing_beyond_its_limits() {
    let refused = |stream: &str| words(decode_request(stream.as_bytes()).unwrap_err());
    assert_eq!(refused("DIST00000001ARGC00010001"), "at byte 12: ARGC announces 65537 items, at most 65536 are taken");
    assert_eq!(
        refused("DIST00000001ARGC00000001ARGV00020001"),
        "at byte 24: ARGV announces 131073 bytes, at most 131072 are taken"
    );
    assert_eq!(
        refused("DIST00000001ARGC00000000DOTI20000000"),
        "at byte 24: DOTI announces 536870912 bytes, at most 536870911 are taken"
    );
    assert_eq!(refused("DIST00000003CDIR00001001"), "at byte 12: CDIR announces 4097 bytes, at most 4096 are taken");
    let start = "DIST00000003CDIR00000000ARGC00000000";
    assert_eq!(
        refused(&format!("{start}NFILffffffff")),
        "at byte 36: NFIL announces 4294967295 items, at most 65536 are taken"
    );
    assert_eq!(
        refused(&format!("{start}NFIL00000001NAME00000002/aDOTI")),
        "at byte 62: expected FILE or LINK, found \"DOTI\""
    );
    assert_eq!(refused(&format!("{start}NFIL00000000!")), "at byte 48: 1 bytes came after the end");
    let limits = RequestLimits { total: 50, ..RequestLimits::default() };
    let mut input = BytesMut::from(&b"DIST00000001ARGC00000002ARGV00000009123456789ARGV00000009123456789"[..]);
    let error = RequestDecoder::new(limits).advance(&mut input).unwrap_err();
    assert_eq!(words(error), "at byte 45: the request is longer than 50 bytes");
}

#[test]
fn what_no_peer_takes_is_not_sent() {
    let input = || Input::V1(Bytes::new());
    let long = vec![Bytes::from(vec![b'x'; limits::MAX_ARGUMENT_LEN + 1])];
    let (token, cap) = (Token::Argv, limits::MAX_ARGUMENT_LEN);
    let error = Request { argv: long, input: input() }.encode().unwrap_err();
    assert_eq!(error, Unsendable::TooLong { token, length: cap + 1, cap });
    let (token, cap) = (Token::Argc, limits::MAX_ARGUMENTS);
    let many = vec![Bytes::new(); cap + 1];
    let error = Request { argv: many, input: input() }.encode().unwrap_err();
    assert_eq!(error, Unsendable::TooMany { token, count: cap + 1, cap });
    let good = Response {
        version: Version::V2,
        status: WaitStatus::SUCCESS,
        stderr: Bytes::new(),
        stdout: Bytes::new(),
        object: Some(Bytes::from_static(b"o")),
        deps: None,
    };
    assert!(good.encode().is_ok());
    let failed = Response { status: WaitStatus::exited(1), ..good.clone() };
    assert_eq!(failed.encode(), Err(Unsendable::Contradiction { token: Token::Doto }));
    let deps = Response { deps: Some(Bytes::new()), ..good };
    assert_eq!(deps.encode(), Err(Unsendable::Contradiction { token: Token::Dotd }));
}
