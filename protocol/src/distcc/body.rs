//! Bulk bodies as they are on the wire.

use bytes::Bytes;

use super::limits::MAX_BODY_LEN;
use super::token::Token;
use super::{Error, Fault, Version};
use crate::distcc::reader::Reader;
use crate::lzo;

/// A body that is already an LZO1X block. Clones share its bytes, so that one block serves any number of requests.
///
/// An empty body is no block at all: it stays empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Compressed(Bytes);

impl Compressed {
    /// Compresses `plain`.
    pub fn new(plain: &[u8]) -> Self {
        if plain.is_empty() { Self::default() } else { Self(lzo::compress(plain).into()) }
    }

    /// Takes bytes that a peer, or an earlier call of [`Self::new`], has compressed.
    pub fn from_wire(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The bytes as they are on the wire.
    pub fn as_wire(&self) -> &Bytes {
        &self.0
    }

    /// Length on the wire in bytes.
    pub fn wire_len(&self) -> usize {
        self.0.len()
    }

    /// The plain bytes, `cap` at most.
    ///
    /// # Errors
    /// When the bytes are no LZO1X block, or one of more than `cap` plain bytes.
    pub fn decompress(&self, cap: usize) -> Result<Vec<u8>, lzo::Error> {
        if self.0.is_empty() { Ok(Vec::new()) } else { lzo::decompress(&self.0, cap) }
    }
}

/// The greatest length on the wire of a body that has at most `plain` bytes.
///
/// No encoder is known to need more than a 64th above the plain length; a 16th leaves room for poor ones.
pub(super) fn wire_cap(version: Version, plain: usize) -> usize {
    const FIXED: usize = 64;
    let cap = if version.compresses() { plain.saturating_add(plain / 16).saturating_add(FIXED) } else { plain };
    cap.min(MAX_BODY_LEN)
}

/// The plain bytes of the body that `reader` has just taken.
pub(super) fn unpack(version: Version, token: Token, body: Bytes, cap: usize, reader: &Reader) -> Result<Bytes, Error> {
    if !version.compresses() {
        return Ok(body);
    }
    match Compressed::from_wire(body).decompress(cap) {
        Ok(plain) => Ok(plain.into()),
        Err(error) => Err(reader.fault(Fault::BadBody { token, error })),
    }
}

/// The body that carries `plain`.
pub(super) fn pack(version: Version, plain: &Bytes) -> Bytes {
    if version.compresses() { Compressed::new(plain).0 } else { plain.clone() }
}
