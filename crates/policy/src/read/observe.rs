//! Reader of the telemetry settings.

use super::super::diagnostics::Diagnostics;
use super::super::file::{Observe, Otlp};
use super::super::yaml::Node;
use super::Read;
use super::fields::Fields;
use super::scalars::word;
use crate::file::Subjects;

impl Read for Observe {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "observe", diagnostics)?;
        let usual = Self::default();
        let observe = Self {
            enabled: fields.or("enabled", usual.enabled),
            near_miss: fields.or("near_miss", usual.near_miss),
            subjects: fields.or("subjects", usual.subjects),
            denial_log: fields.or("denial_log", usual.denial_log),
            otlp: fields.get("otlp"),
        };
        fields.done();
        Some(observe)
    }
}

impl Read for Otlp {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "otlp", diagnostics)?;
        let usual = Self::default();
        let otlp = Self {
            endpoint: fields.required("endpoint", "endpoint: http://127.0.0.1:4318"),
            traces: fields.or("traces", usual.traces),
            metrics_every: fields.or("metrics_every", usual.metrics_every),
        };
        fields.done();
        Some(otlp)
    }
}

impl Read for Subjects {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        word(node, &[("plain", Self::Plain), ("hashed", Self::Hashed)], diagnostics)
    }
}
