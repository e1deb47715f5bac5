//! Text formats of metrics: Prometheus and OpenMetrics.

use std::fmt::{self, Write};

use hyper::header::HeaderValue;

use super::family::{Metric, MetricKind, MetricValue, PREFIX, Sink, Spread};

/// Text format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetricsFormat {
    /// Prometheus text format.
    Text,
    OpenMetrics,
}

impl MetricsFormat {
    pub(crate) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        })
    }
}

/// Page of metrics.
pub(crate) struct Page {
    text: String,
    format: MetricsFormat,
    /// Name of the current metric.
    current: Option<&'static str>,
}

impl Page {
    pub(crate) fn new(format: MetricsFormat) -> Self {
        Self { text: String::with_capacity(16 << 10), format, current: None }
    }

    /// Completes the text.
    pub(crate) fn end(mut self) -> String {
        if self.format == MetricsFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    /// Writes the head of a metric before its first sample.
    fn begin(&mut self, metric: &Metric) {
        let Metric { name, kind, help } = *metric;
        if self.current.replace(name) == Some(name) {
            return;
        }
        // The Prometheus format has no info metrics, and its counters have the name of their
        // samples.
        let (suffix, kind) = match (self.format, kind) {
            (MetricsFormat::OpenMetrics, MetricKind::Info) => ("", "info"),
            (MetricsFormat::Text, MetricKind::Info) => ("_info", "gauge"),
            (MetricsFormat::OpenMetrics, MetricKind::Counter) => ("", "counter"),
            (MetricsFormat::Text, MetricKind::Counter) => ("_total", "counter"),
            (_, MetricKind::Gauge) => ("", "gauge"),
            (_, MetricKind::Histogram) => ("", "histogram"),
        };
        self.text.extend(["# HELP ", PREFIX, name, suffix, " ", help, "\n"]);
        self.text.extend(["# TYPE ", PREFIX, name, suffix, " ", kind, "\n"]);
    }

    fn line(&mut self, [name, suffix]: [&str; 2], labels: &[(&str, &str)], value: impl fmt::Display) {
        let text = &mut self.text;
        text.extend([PREFIX, name, suffix]);
        let mut before = '{';
        for (label, value) in labels {
            text.push(before);
            text.extend([label, "=\""]);
            escape(text, value);
            text.push('"');
            before = ',';
        }
        let end = if labels.is_empty() { " " } else { "} " };
        writeln!(text, "{end}{value}").expect("writing to a string does not fail");
    }
}

impl Sink for Page {
    fn sample(&mut self, metric: &Metric, labels: &[(&'static str, &str)], value: MetricValue) {
        self.begin(metric);
        let name = [metric.name, metric.kind.suffix()];
        match value {
            MetricValue::Whole(number) => self.line(name, labels, number),
            MetricValue::Ms(ms) => self.line(name, labels, Seconds { ns: u128::from(ms) * 1_000_000 }),
        }
    }

    fn spread(&mut self, metric: &Metric, Spread { buckets, count, sum_ns }: Spread<'_>) {
        self.begin(metric);
        let buckets = buckets.iter().map(|bucket| (bucket.upper, bucket.count));
        for (upper, count) in buckets.chain([("+Inf", count)]) {
            self.line([metric.name, "_bucket"], &[("le", upper)], count);
        }
        self.line([metric.name, "_sum"], &[], Seconds { ns: sum_ns.into() });
        self.line([metric.name, "_count"], &[], count);
    }
}

/// Time in seconds, without rounding.
struct Seconds {
    ns: u128,
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:09}", self.ns / 1_000_000_000, self.ns % 1_000_000_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Appends the value of a label, escaped.
fn escape(text: &mut String, value: &str) {
    let mut rest = value;
    while let Some(at) = rest.find(['\\', '"', '\n']) {
        text.push_str(&rest[..at]);
        text.push_str(match rest.as_bytes()[at] {
            b'\\' => "\\\\",
            b'"' => "\\\"",
            _ => "\\n",
        });
        rest = &rest[at + 1..];
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests;
