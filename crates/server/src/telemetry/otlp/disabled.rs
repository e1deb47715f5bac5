//! What is there in place of OpenTelemetry where the program was built without it: nothing, and whoever sets it is told.

use std::sync::Arc;

use hyper::HeaderMap;
use slidegate::policy::Settings;
use slidegate::{Answer, Answers, GateError, Verdict};

use crate::config::ConfigError;
use crate::config::listener::Door;
use crate::runtime::app::App;

pub(crate) struct Telemetry;

#[derive(Default)]
pub(crate) struct Trace;

pub(crate) struct Exporting;

pub(crate) struct SpanCounts {
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
}

impl Telemetry {
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
        _asked: (Door, &'static str),
        _headers: Option<&HeaderMap>,
        _random: impl FnMut() -> u64,
    ) -> Trace {
        Trace
    }

    pub(crate) fn spans(&self) -> Option<SpanCounts> {
        None
    }
}

impl Trace {
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        true
    }

    #[inline]
    pub(crate) fn answered<E>(self, _: &Telemetry, _: &Result<Answer, GateError<E>>) {}

    #[inline]
    pub(crate) fn answered_together<E>(self, _: &Telemetry, _: &Result<Answers, GateError<E>>) {}

    #[inline]
    pub(crate) fn limited<E>(self, _: &Telemetry, _: &Result<Verdict, E>) {}
}

pub(crate) fn begin<C>(_app: &Arc<App<C>>) -> Exporting {
    Exporting
}

impl Exporting {
    pub(crate) async fn end(self) {}
}
