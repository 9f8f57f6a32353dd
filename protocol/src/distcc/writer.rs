//! Puts tokens into chunks of bytes that lend the bulk bodies instead of copying them.

use bytes::{Bytes, BytesMut};

use super::error::Unsendable;
use super::limits::MAX_BODY_LEN;
use super::token::{Header, Token};

/// Bodies up to this length in bytes are copied next to their headers: a chunk of its own costs a system call more than
/// the copy does.
const COPY_LEN: usize = 1024;

/// A message ready to be written, in order, chunk after chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    chunks: Vec<Bytes>,
    len: u64,
}

impl Encoded {
    /// The chunks, none of them empty. Large bodies are lent, not copied.
    pub fn chunks(&self) -> &[Bytes] {
        &self.chunks
    }

    /// The chunks, given away.
    pub fn into_chunks(self) -> Vec<Bytes> {
        self.chunks
    }

    /// Length of the whole message in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing to write; never so for a message of this protocol.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The whole message in one piece, copied.
    pub fn concat(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.len = self.len.saturating_add(chunk.len() as u64);
            self.chunks.push(chunk);
        }
    }
}

/// Collects tokens.
#[derive(Default)]
pub(super) struct Writer {
    done: Encoded,
    copied: BytesMut,
}

impl Writer {
    /// A token that carries a plain number.
    pub(super) fn number(&mut self, token: Token, value: u32) {
        self.copied.extend_from_slice(&Header { token, value }.encode());
    }

    /// A token that counts the items that follow it.
    pub(super) fn count(&mut self, token: Token, count: usize, cap: usize) -> Result<(), Unsendable> {
        match u32::try_from(count) {
            Ok(value) if count <= cap => {
                self.number(token, value);
                Ok(())
            }
            _ => Err(Unsendable::TooMany { token, count, cap }),
        }
    }

    /// A token and a short body.
    pub(super) fn string(&mut self, token: Token, body: &[u8], cap: usize) -> Result<(), Unsendable> {
        self.length(token, body.len(), cap)?;
        self.copied.extend_from_slice(body);
        Ok(())
    }

    /// A token and a bulk body.
    pub(super) fn bulk(&mut self, token: Token, body: &Bytes) -> Result<(), Unsendable> {
        if body.len() <= COPY_LEN {
            return self.string(token, body, MAX_BODY_LEN);
        }
        self.length(token, body.len(), MAX_BODY_LEN)?;
        self.flush();
        self.done.push(body.clone());
        Ok(())
    }

    /// What was collected.
    pub(super) fn finish(mut self) -> Encoded {
        self.flush();
        self.done
    }

    fn length(&mut self, token: Token, length: usize, cap: usize) -> Result<(), Unsendable> {
        match u32::try_from(length) {
            Ok(value) if length <= cap => {
                self.number(token, value);
                Ok(())
            }
            _ => Err(Unsendable::TooLong { token, length, cap }),
        }
    }

    fn flush(&mut self) {
        self.done.push(self.copied.split().freeze());
    }
}
