//! Bounded queue of spans. What does not fit is counted and dropped, so that no request waits.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::messages::OtlpSpan;

/// Maximum number of queued spans.
pub(super) const MAX_WAITING: usize = 2_048;

/// Queue of spans.
pub(super) struct Spans {
    queue: mpsc::Sender<OtlpSpan>,
    /// Its other end, until somebody takes it.
    waiting: Mutex<Option<mpsc::Receiver<OtlpSpan>>>,
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
        let (queue, waiting) = mpsc::channel(MAX_WAITING);
        Self {
            queue,
            waiting: Mutex::new(Some(waiting)),
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// Never waits.
    pub(super) fn push(&self, span: OtlpSpan) {
        if self.queue.try_send(span).is_err() {
            self.count_dropped(1);
        }
    }

    /// The end at which they come out. There is one.
    pub(super) fn take(&self) -> Option<mpsc::Receiver<OtlpSpan>> {
        self.waiting.lock().take()
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
