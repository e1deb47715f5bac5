//! Bounded queue of spans. Spans beyond the bound are dropped and counted, so that no request
//! waits.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::messages::OtlpSpan;

/// Maximum number of queued spans.
const MAX_QUEUED: usize = 2_048;

/// Queue of spans.
pub(super) struct Spans {
    queue: mpsc::Sender<OtlpSpan>,
    /// Receiver, until the exporter takes it.
    receiver: Mutex<Option<mpsc::Receiver<OtlpSpan>>>,
    sent: AtomicU64,
    dropped: AtomicU64,
}

/// Counts of spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SpanCounts {
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
}

impl Spans {
    pub(super) fn new() -> Self {
        let (queue, receiver) = mpsc::channel(MAX_QUEUED);
        Self {
            queue,
            receiver: Mutex::new(Some(receiver)),
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// Queues a span, or drops it. Never waits.
    pub(super) fn push(&self, span: OtlpSpan) {
        if self.queue.try_send(span).is_err() {
            self.count_dropped(1);
        }
    }

    /// Receiver of the queue, once.
    pub(super) fn take(&self) -> Option<mpsc::Receiver<OtlpSpan>> {
        self.receiver.lock().take()
    }

    pub(super) fn count_sent(&self, spans: u64) {
        self.sent.fetch_add(spans, Ordering::Relaxed);
    }

    pub(super) fn count_dropped(&self, spans: u64) {
        self.dropped.fetch_add(spans, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> SpanCounts {
        SpanCounts { sent: self.sent.load(Ordering::Relaxed), dropped: self.dropped.load(Ordering::Relaxed) }
    }
}
