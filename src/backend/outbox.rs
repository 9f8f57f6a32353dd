//! What a connection has still to send.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

/// Bytes that are to be written, without being copied together.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    chunks: VecDeque<Bytes>,
    /// Of all chunks together.
    length: usize,
}

impl Outbox {
    /// Adds to the end.
    pub(super) fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.length += bytes.len();
            self.chunks.push_back(bytes);
        }
    }
}

impl From<Vec<Bytes>> for Outbox {
    fn from(chunks: Vec<Bytes>) -> Self {
        let length = chunks.iter().map(Bytes::len).sum();
        Self { chunks: chunks.into(), length }
    }
}

impl Buf for Outbox {
    fn remaining(&self) -> usize {
        self.length
    }

    fn chunk(&self) -> &[u8] {
        self.chunks.front().map_or(&[], |chunk| chunk)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let filled = slices.iter_mut().zip(&self.chunks).map(|(slice, chunk)| *slice = IoSlice::new(chunk));
        filled.count()
    }

    fn advance(&mut self, mut count: usize) {
        self.length = self.length.saturating_sub(count);
        while let Some(first) = self.chunks.front_mut() {
            let taken = count.min(first.len());
            first.advance(taken);
            count -= taken;
            if !first.is_empty() {
                return;
            }
            self.chunks.pop_front();
        }
    }
}
