//! Fuzz bodies: each takes any bytes and must neither panic nor take long. A test runs them over the committed corpus.

use super::{Error, compress, compressed_bound, decompress};

/// Output that a fuzzed stream may make, in bytes: small, so that hostile streams reach it often.
const CAP: usize = 1 << 16;

/// Decompresses `data` as a stream.
pub fn fuzz_decompress(data: &[u8]) {
    match decompress(data, CAP) {
        Ok(output) => {
            assert!(output.len() <= CAP);
            assert_eq!(decompress(data, output.len()).as_deref(), Ok(output.as_slice()));
            if let Some(cap) = output.len().checked_sub(1) {
                assert!(matches!(decompress(data, cap), Err(Error::TooLarge { .. })));
            }
        }
        Err(Error::TooLarge { cap, .. }) => assert_eq!(cap, CAP),
        Err(_) => {}
    }
}

/// Compresses `data` and back.
pub fn fuzz_roundtrip(data: &[u8]) {
    let stream = compress(data);
    assert!(stream.len() <= compressed_bound(data.len()));
    assert_eq!(decompress(&stream, data.len()).as_deref(), Ok(data));
}
