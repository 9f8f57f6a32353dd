//! Our server's end against the stock client.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::{fs, thread};

use bytes::{Bytes, BytesMut};
use thinbridge_protocol::distcc::{
    Input, Progress, Request, RequestDecoder, RequestLimits, Response, Version, WaitStatus, scan,
};

use crate::daemon::{Folder, skip};

/// What the server below returns as the object: the client does not look inside.
const OBJECT: &[u8] = b"an object, an object, an object, an object";

/// Serves one connection.
fn serve(listener: &TcpListener) -> Request {
    let (mut stream, _) = listener.accept().unwrap();
    let mut decoder = RequestDecoder::new(RequestLimits::default());
    let mut input = BytesMut::new();
    let mut piece = [0; 777];
    let request = loop {
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "the client closed too early");
        input.extend_from_slice(&piece[..length]);
        if let Progress::Done(request) = decoder.advance(&mut input).unwrap() {
            break request;
        }
    };
    let response = Response {
        version: request.version(),
        status: WaitStatus::SUCCESS,
        stderr: Bytes::from_static(b"words on stderr\n"),
        stdout: Bytes::from_static(b"words on stdout\n"),
        object: Some(Bytes::from_static(OBJECT)),
        deps: None,
    };
    for chunk in response.encode().unwrap().chunks() {
        stream.write_all(chunk).unwrap();
    }
    request
}

#[test]
fn the_stock_client_gets_its_object_from_us() {
    if Command::new("distcc").arg("--version").output().is_err() {
        return skip("distcc is not installed");
    }
    for (options, version) in [("", Version::V1), (",lzo", Version::V2)] {
        let folder = Folder::new(&format!("client-{version}"));
        folder.write("a.c", "int from_the_test(void) { return 1; }\n");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut distcc = Command::new("distcc");
        distcc.args(["cc", "-c", "a.c", "-o", "a.o"]).current_dir(folder.path());
        distcc.env("DISTCC_HOSTS", format!("{}{options}", listener.local_addr().unwrap()));
        distcc.env("DISTCC_DIR", folder.path()).env("DISTCC_FALLBACK", "0").env_remove("DISTCC_VERBOSE");
        let server = thread::spawn(move || serve(&listener));
        let output = distcc.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(fs::read(folder.path().join("a.o")).unwrap(), OBJECT);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "words on stdout\n");
        assert!(String::from_utf8_lossy(&output.stderr).contains("words on stderr\n"), "{output:?}");
        let request = server.join().unwrap();
        assert_eq!(request.version(), version);
        assert!(scan(&request.argv).is_ok(), "{:?}", request.argv);
        let source = match request.input {
            Input::V1(source) => source.to_vec(),
            Input::V2(source) => source.decompress(usize::MAX).unwrap(),
            other => panic!("{other:?}"),
        };
        assert!(String::from_utf8_lossy(&source).contains("int from_the_test(void) { return 1; }"));
    }
}
