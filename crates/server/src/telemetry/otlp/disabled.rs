//! Stand-in for OpenTelemetry in builds without it. Its setting is an error.

use hyper::HeaderMap;
use slidegate::{Answer, GateError, Verdict};

use crate::config::Settings;
use crate::config::error::ConfigError;
use crate::config::listener::Listener;
use crate::telemetry::metrics::family::Sink;

pub(crate) struct Tracer;

#[derive(Default)]
pub(crate) struct Trace;

pub(crate) struct Exporting;

pub(crate) struct SpanCounts {
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
}

impl Tracer {
    pub(crate) fn check(settings: &Settings) -> Result<(), ConfigError> {
        match settings.observe.otlp {
            None => Ok(()),
            Some(_) => Err(ConfigError::WithoutOtlp),
        }
    }

    pub(crate) fn new(settings: &Settings) -> Result<Self, ConfigError> {
        Self::check(settings).map(|()| Self)
    }

    #[inline]
    pub(crate) fn trace(
        &self,
        _operation: (Listener, &'static str),
        _headers: Option<&HeaderMap>,
        _random: impl FnMut() -> u64,
    ) -> Trace {
        Trace
    }

    #[inline]
    pub(crate) fn answered<E>(&self, _: Trace, _: &Result<Answer, GateError<E>>) {}

    #[inline]
    pub(crate) fn batch_answered<E>(&self, _: Trace, _: &Result<Answer, GateError<E>>) {}

    #[inline]
    pub(crate) fn limited<E>(&self, _: Trace, _: &Result<Verdict, E>) {}

    pub(crate) fn spans(&self) -> Option<SpanCounts> {
        None
    }
}

impl Trace {
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        true
    }
}

/// Source of the metrics that would be sent.
pub(crate) type Gather = Box<dyn Fn(&mut dyn Sink) + Send + Sync>;

pub(crate) fn begin(_tracer: &Tracer, _gather: Gather) -> Exporting {
    Exporting
}

impl Exporting {
    pub(crate) async fn end(self) {}
}
