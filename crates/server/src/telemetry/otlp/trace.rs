//! The span of one check: begun where a request is to leave one, told what came of it, and queued.

use std::time::{Duration, Instant, SystemTime};

use hyper::HeaderMap;
use slidegate::{Answer, Answers, GateError, Verdict};

use super::context;
use super::context::Parent;
use super::exporter::Telemetry;
use super::messages::{KeyValue, Span, Status};
use super::span_attributes;
use crate::config::listener::Door;

const SERVER: i32 = 2;
const ERROR: i32 = 2;
/// The caller's flags are told, and whether the parent is in another process.
const SAMPLED: u32 = 0x001;
const KNOWN: u32 = 0x100;
const REMOTE: u32 = 0x200;

/// What a check leaves, if it is to leave anything.
#[derive(Default)]
pub(crate) struct Trace(Option<Box<Begun>>);

/// A span that is not over. In a box: nearly all requests have none.
struct Begun {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    parent: Option<[u8; 8]>,
    state: String,
    door: Door,
    asked: &'static str,
    start: SystemTime,
    since: Instant,
}

/// Which of the requests that begin a trace of their own leave it.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Of 2^63 numbers.
    below: u64,
}

impl Share {
    /// In hundredths of a percent.
    pub(super) fn new(basis_points: u32) -> Self {
        let below = (1_u128 << 63) * u128::from(basis_points.min(10_000)) / 10_000;
        Self { below: below as u64 }
    }

    /// By the lower half of a trace's id, as other programs decide: so a trace is kept as a whole, or not at all.
    fn has(self, low: u64) -> bool {
        low >> 1 < self.below
    }
}

impl Trace {
    /// The span of a request, if its caller or else its share says that it leaves one.
    pub(super) fn begin(
        share: Share,
        (door, asked): (Door, &'static str),
        headers: Option<&HeaderMap>,
        mut random: impl FnMut() -> u64,
    ) -> Self {
        let parent = headers.and_then(context::parent);
        let low = parent.is_none().then(&mut random);
        if !low.map_or_else(|| parent.as_ref().is_some_and(|parent| parent.sampled), |low| share.has(low)) {
            return Self(None);
        }
        // Zeros stand for nothing.
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
        Self(Some(Box::new(Begun {
            trace_id,
            span_id: nonzero(),
            parent: parent.map(|parent| parent.span_id),
            state,
            door,
            asked,
            start: SystemTime::now(),
            since: Instant::now(),
        })))
    }

    /// Whether nothing is to be told.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Ends with what came of a request.
    #[inline]
    pub(crate) fn answered<E: std::error::Error>(
        self,
        telemetry: &Telemetry,
        answer: &Result<Answer, GateError<E>>,
    ) {
        self.end(telemetry, || span_attributes::answer(answer));
    }

    /// Ends with what came of several.
    #[inline]
    pub(crate) fn answered_together<E: std::error::Error>(
        self,
        telemetry: &Telemetry,
        answers: &Result<Answers, GateError<E>>,
    ) {
        self.end(telemetry, || span_attributes::answers(answers));
    }

    /// Ends with what a limit said that came along.
    #[inline]
    pub(crate) fn limited<E: std::error::Error>(self, telemetry: &Telemetry, verdict: &Result<Verdict, E>) {
        self.end(telemetry, || span_attributes::verdict(verdict));
    }

    #[inline]
    fn end(self, telemetry: &Telemetry, told: impl FnOnce() -> Told) {
        if let (Some(begun), Some(otlp)) = (self.0, &telemetry.0) {
            otlp.spans.push(begun.span(told()));
        }
    }
}

/// What is known at the end.
#[derive(Default)]
pub(super) struct Told {
    pub(super) attributes: Vec<KeyValue>,
    /// What went wrong; a refusal is nothing wrong.
    pub(super) error: Option<String>,
}

impl Begun {
    #[cold]
    fn span(self, told: Told) -> Span {
        let start = self.start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut attributes = told.attributes;
        attributes.push(KeyValue::text("slidegate.protocol", protocol(self.door)));
        let status = told.error.map(|message| Status { message, code: ERROR });
        let remote = if self.parent.is_some() { REMOTE } else { 0 };
        Span {
            trace_id: self.trace_id.to_vec(),
            span_id: self.span_id.to_vec(),
            trace_state: self.state,
            parent_span_id: self.parent.map(|id| id.to_vec()).unwrap_or_default(),
            name: self.asked.to_owned(),
            kind: SERVER,
            start_time_unix_nano: nanos(start),
            // By a clock that does not step.
            end_time_unix_nano: nanos(start + self.since.elapsed()),
            attributes,
            status,
            flags: SAMPLED | KNOWN | remote,
        }
    }
}

fn protocol(door: Door) -> &'static str {
    match door {
        Door::Check | Door::Admin => "http",
        Door::Grpc => "grpc",
        Door::Resp => "resp",
    }
}

/// Until the year 2554.
pub(super) fn nanos(since_epoch: Duration) -> u64 {
    since_epoch.as_nanos().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
