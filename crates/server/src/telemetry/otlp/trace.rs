//! Trace of one request: its span, if it is sampled.

use std::time::{Duration, Instant, SystemTime};

use hyper::HeaderMap;

use super::context;
use super::context::Parent;
use super::messages::{KeyValue, OtlpSpan, SpanStatus};
use crate::config::listener::Listener;

const SERVER: i32 = 2;
const ERROR: i32 = 2;
/// Flags: sampled, and whether the parent is remote.
const SAMPLED: u32 = 0x001;
const HAS_IS_REMOTE: u32 = 0x100;
const REMOTE: u32 = 0x200;

/// Trace of a request, if it is sampled.
#[derive(Default)]
pub(crate) struct Trace(Option<Box<OpenSpan>>);

/// Open span. Boxed: nearly all requests have none.
struct OpenSpan {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    parent: Option<[u8; 8]>,
    state: String,
    listener: Listener,
    operation: &'static str,
    start: SystemTime,
    since: Instant,
}

/// Share of sampled traces.
#[derive(Clone, Copy)]
pub(super) struct SampleShare {
    /// Trace ids below this number are sampled, of 2^63.
    below: u64,
}

impl SampleShare {
    /// Share in hundredths of a percent.
    pub(super) fn new(basis_points: u32) -> Self {
        let below = (1_u128 << 63) * u128::from(basis_points.min(10_000)) / 10_000;
        Self { below: below as u64 }
    }

    /// Decides by the lower half of the trace id, as other programs do, so that all spans of a
    /// trace are sampled or none.
    fn has(self, low: u64) -> bool {
        low >> 1 < self.below
    }
}

impl Trace {
    /// Starts the span of a request, if the caller sampled it or, without a caller, if its id is
    /// sampled.
    pub(super) fn begin(
        share: SampleShare,
        (listener, operation): (Listener, &'static str),
        headers: Option<&HeaderMap>,
        mut random: impl FnMut() -> u64,
    ) -> Self {
        let parent = headers.and_then(context::parent);
        let low = parent.is_none().then(&mut random);
        if !low.map_or_else(|| parent.as_ref().is_some_and(|parent| parent.sampled), |low| share.has(low)) {
            return Self(None);
        }
        // An id of zeros is invalid.
        let mut nonzero = || random().max(1).to_be_bytes();
        let trace_id = match (&parent, low) {
            (Some(Parent { trace_id, .. }), _) => *trace_id,
            (None, low) => {
                let mut id = [0; 16];
                id[..8].copy_from_slice(&nonzero());
                id[8..].copy_from_slice(&low.unwrap_or_default().to_be_bytes());
                id
            }
        };
        let state = match (&parent, headers) {
            (Some(_), Some(headers)) => context::state(headers),
            _ => String::new(),
        };
        Self(Some(Box::new(OpenSpan {
            trace_id,
            span_id: nonzero(),
            parent: parent.map(|parent| parent.span_id),
            state,
            listener,
            operation,
            start: SystemTime::now(),
            since: Instant::now(),
        })))
    }

    /// Whether the request is not sampled.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Completes the span, if there is one.
    #[inline]
    pub(super) fn end(self, outcome: impl FnOnce() -> SpanOutcome) -> Option<OtlpSpan> {
        self.0.map(|open| open.span(outcome()))
    }
}

/// Outcome of a span.
#[derive(Default)]
pub(super) struct SpanOutcome {
    pub(super) attributes: Vec<KeyValue>,
    /// Error message; a denial is no error.
    pub(super) error: Option<String>,
}

impl OpenSpan {
    #[cold]
    fn span(self, outcome: SpanOutcome) -> OtlpSpan {
        let start = self.start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut attributes = outcome.attributes;
        attributes.push(KeyValue::text("slidegate.protocol", protocol(self.listener)));
        let status = outcome.error.map(|message| SpanStatus { message, code: ERROR });
        let remote = if self.parent.is_some() { REMOTE } else { 0 };
        OtlpSpan {
            trace_id: self.trace_id.to_vec(),
            span_id: self.span_id.to_vec(),
            trace_state: self.state,
            parent_span_id: self.parent.map(|id| id.to_vec()).unwrap_or_default(),
            name: self.operation.to_owned(),
            kind: SERVER,
            start_time_unix_nano: nanos(start),
            // By the monotonic clock.
            end_time_unix_nano: nanos(start + self.since.elapsed()),
            attributes,
            status,
            flags: SAMPLED | HAS_IS_REMOTE | remote,
        }
    }
}

fn protocol(listener: Listener) -> &'static str {
    match listener {
        Listener::Http | Listener::Admin => "http",
        Listener::Grpc => "grpc",
        Listener::Resp => "resp",
    }
}

/// Nanoseconds, which fit until the year 2554.
pub(super) fn nanos(since_epoch: Duration) -> u64 {
    since_epoch.as_nanos().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
