//! Frames of HTTP/2, as far as necessary to find the end of a header block. `h2` reads their
//! contents, and waits for the end without a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Length of the preface of a connection.
const PREFACE_BYTES: usize = 24;
/// Length of the head of a frame: length, kind, flags and stream.
const HEAD_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PUSH_PROMISE: u8 = 5;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// Header block that a connection is reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum HeaderBlock {
    /// None: all frames are complete, or the rest is data of a call, which has a time limit of its
    /// own.
    None,
    /// Part of a block, or of a frame that is not data.
    Begun,
    /// More of a block than a head may have, without an end.
    TooLarge,
}

/// Header block, shared by the reader of a connection and its calls.
#[derive(Clone, Default)]
pub(super) struct HeaderBlockState(Arc<AtomicU8>);

impl HeaderBlockState {
    pub(super) fn block(&self) -> HeaderBlock {
        match self.0.load(Ordering::Relaxed) {
            0 => HeaderBlock::None,
            1 => HeaderBlock::Begun,
            _ => HeaderBlock::TooLarge,
        }
    }

    fn set(&self, block: HeaderBlock) {
        self.0.store(block as u8, Ordering::Relaxed);
    }
}

/// Position in the frames that a client sends.
pub(super) struct Frames {
    watch: HeaderBlockState,
    max_block_bytes: usize,
    preface_bytes: usize,
    head: [u8; HEAD_BYTES],
    head_bytes: usize,
    /// Bytes of a frame that are still to come.
    left_bytes: usize,
    kind: u8,
    /// Length, as announced, of a header block that has not ended.
    block_bytes: Option<usize>,
}

impl Frames {
    pub(super) fn new(watch: HeaderBlockState, max_block_bytes: usize) -> Self {
        Self {
            watch,
            max_block_bytes,
            preface_bytes: PREFACE_BYTES,
            head: [0; HEAD_BYTES],
            head_bytes: 0,
            left_bytes: 0,
            kind: DATA,
            block_bytes: None,
        }
    }

    /// Advances by the bytes that were read. A block that is too large stays so, since its
    /// connection ends.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        let skipped = self.preface_bytes.min(bytes.len());
        self.preface_bytes -= skipped;
        let mut bytes = &bytes[skipped..];
        while !bytes.is_empty() {
            let length = if self.left_bytes > 0 { self.skip(bytes) } else { self.take_head(bytes) };
            bytes = &bytes[length..];
        }
        if !self.is_too_large() {
            self.watch.set(self.block());
        }
    }

    /// Whether a header block was too large.
    pub(super) fn is_too_large(&self) -> bool {
        self.watch.block() == HeaderBlock::TooLarge
    }

    fn skip(&mut self, bytes: &[u8]) -> usize {
        let length = self.left_bytes.min(bytes.len());
        self.left_bytes -= length;
        length
    }

    fn take_head(&mut self, bytes: &[u8]) -> usize {
        let length = (HEAD_BYTES - self.head_bytes).min(bytes.len());
        self.head[self.head_bytes..][..length].copy_from_slice(&bytes[..length]);
        self.head_bytes += length;
        if self.head_bytes == HEAD_BYTES {
            self.head_bytes = 0;
            self.begin();
        }
        length
    }

    /// Begins the frame whose head is complete.
    fn begin(&mut self) {
        let [a, b, c, kind, flags, ..] = self.head;
        self.left_bytes = u32::from_be_bytes([0, a, b, c]) as usize;
        self.kind = kind;
        if matches!(kind, HEADERS | PUSH_PROMISE | CONTINUATION) {
            let is_over = flags & END_HEADERS != 0;
            let so_far = self.block_bytes.unwrap_or_default().saturating_add(self.left_bytes);
            self.block_bytes = (!is_over).then_some(so_far);
        }
    }

    fn block(&self) -> HeaderBlock {
        match self.block_bytes {
            Some(bytes) if bytes > self.max_block_bytes => HeaderBlock::TooLarge,
            Some(_) => HeaderBlock::Begun,
            None if self.head_bytes > 0 || (self.left_bytes > 0 && self.kind != DATA) => HeaderBlock::Begun,
            None => HeaderBlock::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, length: usize) -> Vec<u8> {
        let [.., a, b, c] = length.to_be_bytes();
        [vec![a, b, c, kind, flags, 0, 0, 0, 1], vec![0xff; length]].concat()
    }

    /// The position depends only on the last byte, however the bytes are cut.
    #[test]
    fn where_a_block_has_begun() {
        const PING: u8 = 6;
        let rows = [
            (frame(PING, 0, 8), HeaderBlock::None),
            (frame(HEADERS, END_HEADERS, 100), HeaderBlock::None),
            (frame(DATA, 0, 16_384), HeaderBlock::None),
            (frame(DATA, 0, 100)[..50].to_vec(), HeaderBlock::None),
            (frame(DATA, 0, 100)[..5].to_vec(), HeaderBlock::Begun),
            (frame(PING, 0, 8)[..12].to_vec(), HeaderBlock::Begun),
            (frame(HEADERS, 0, 100), HeaderBlock::Begun),
            ([frame(HEADERS, 0, 100), frame(CONTINUATION, 0, 0)].concat(), HeaderBlock::Begun),
            ([frame(HEADERS, 0, 100), frame(CONTINUATION, END_HEADERS, 0)].concat(), HeaderBlock::None),
            ([frame(HEADERS, 0, 500), frame(CONTINUATION, 0, 500)].concat(), HeaderBlock::Begun),
            ([frame(HEADERS, 0, 500), frame(CONTINUATION, 0, 501)].concat(), HeaderBlock::TooLarge),
            // `h2` checks the contents of one that has ended.
            ([frame(HEADERS, 0, 500), frame(CONTINUATION, END_HEADERS, 501)].concat(), HeaderBlock::None),
        ];
        for (index, (bytes, block)) in rows.into_iter().enumerate() {
            let sent = [&[b' '; PREFACE_BYTES], &frame(4, 0, 6)[..], &bytes].concat();
            for at_once in [1, 2, 7, 64, sent.len()] {
                let watch = HeaderBlockState::default();
                let mut frames = Frames::new(watch.clone(), 1_000);
                sent.chunks(at_once).for_each(|some| frames.advance(some));
                assert_eq!(watch.block(), block, "row {index}, {at_once} at once");
            }
        }
    }
}
