//! TLS records. The content of one, which may be a request, can only be read once it is complete.

use std::io;
use std::sync::Arc;
use std::task::Poll;

use crate::net::connections::Progress;
use crate::net::tracked_io::Track;

/// Length of the head of a record: kind, version and length.
const HEAD_BYTES: usize = 5;

/// Tracker of a stream under TLS: reports incomplete records to the progress of its connection.
#[derive(Default)]
pub(crate) struct RecordTracker {
    position: RecordPosition,
    progress: Option<Arc<Progress>>,
}

impl RecordTracker {
    /// Reports to the progress from now on, after the handshake.
    pub(crate) fn report_to(&mut self, progress: Arc<Progress>) {
        if self.position.is_amid() {
            progress.begin_record();
        }
        self.progress = Some(progress);
    }
}

impl Track for RecordTracker {
    fn after_read(&mut self, read: &Poll<io::Result<()>>, bytes: &[u8]) {
        self.position.advance(bytes);
        match &self.progress {
            Some(progress) if self.position.is_amid() => progress.begin_record(),
            // All bytes were read and no request was in them: the record was one of TLS itself.
            Some(progress) if read.is_pending() => progress.end_record(),
            _ => {}
        }
    }
}

/// Position of a stream within a record.
#[derive(Default)]
struct RecordPosition {
    head: [u8; HEAD_BYTES],
    head_bytes: usize,
    left_bytes: usize,
}

impl RecordPosition {
    fn advance(&mut self, mut bytes: &[u8]) {
        while let [first, rest @ ..] = bytes {
            if self.left_bytes > 0 {
                let some = self.left_bytes.min(bytes.len());
                self.left_bytes -= some;
                bytes = &bytes[some..];
                continue;
            }
            self.head[self.head_bytes] = *first;
            self.head_bytes += 1;
            bytes = rest;
            if self.head_bytes == HEAD_BYTES {
                let [.., high, low] = self.head;
                (self.head_bytes, self.left_bytes) = (0, u16::from_be_bytes([high, low]).into());
            }
        }
    }

    fn is_amid(&self) -> bool {
        self.head_bytes > 0 || self.left_bytes > 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A position is amid a record except at its end, however the bytes are cut.
    #[test]
    fn it_is_amid_a_record_until_its_end() {
        let (mut bytes, mut ends) = (Vec::new(), HashSet::from([0]));
        for length in [0_u16, 1, 5, 300, 0, 2, 16_640, 7] {
            bytes.extend([23, 3, 3]);
            bytes.extend(length.to_be_bytes());
            bytes.extend(vec![0xff; length.into()]);
            ends.insert(bytes.len());
        }
        for at_once in [1, 2, 3, 5, 7, 64, 4_096, bytes.len()] {
            let (mut position, mut read_bytes) = (RecordPosition::default(), 0);
            for some in bytes.chunks(at_once) {
                position.advance(some);
                read_bytes += some.len();
                assert_eq!(
                    position.is_amid(),
                    !ends.contains(&read_bytes),
                    "{at_once} at once, {read_bytes} read"
                );
            }
        }
    }
}
