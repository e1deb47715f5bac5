//! Metrics of `/metrics` as metrics of OpenTelemetry. A collector that exports to Prometheus
//! restores the original names, so that one dashboard fits both.

use std::time::SystemTime;

use super::exporter::Exporter;
use super::messages::{
    Gauge, HistogramDataPoint, KeyValue, MetricData, MetricsRequest, NumberDataPoint, NumberValue,
    OtlpHistogram, OtlpMetric, ResourceMetrics, Scope, ScopeMetrics, Sum,
};
use super::trace::nanos;
use crate::telemetry::metrics::family;
use crate::telemetry::metrics::family::{MetricKind, MetricValue, Sink, Spread};

/// Aggregation temporality: counts since the start of the process.
const CUMULATIVE: i32 = 2;
const NANOS_PER_SECOND: f64 = 1e9;

/// Source of the metrics that are sent.
pub(crate) type Gather = Box<dyn Fn(&mut dyn Sink) + Send + Sync>;

/// Message with all metrics.
pub(super) fn message(gather: &Gather, exporter: &Exporter, now: SystemTime) -> MetricsRequest {
    let since_epoch =
        |time: SystemTime| nanos(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
    let mut batch =
        Batch { metrics: Vec::new(), start_ns: since_epoch(exporter.started), now_ns: since_epoch(now) };
    gather(&mut batch);
    let scope_metrics = vec![ScopeMetrics { scope: Some(Scope::own()), metrics: batch.metrics }];
    let resource = Some(exporter.resource.clone());
    MetricsRequest { resource_metrics: vec![ResourceMetrics { resource, scope_metrics }] }
}

/// Metrics of a message.
struct Batch {
    metrics: Vec<OtlpMetric>,
    start_ns: u64,
    now_ns: u64,
}

impl Batch {
    /// Data points of a metric. The samples of a metric are consecutive.
    fn points(&mut self, metric: &family::Metric) -> &mut Vec<NumberDataPoint> {
        let (name, unit) = otlp_name(metric);
        if self.metrics.last().is_none_or(|last| last.name != name) {
            let data = match metric.kind {
                MetricKind::Counter => MetricData::Sum(Sum {
                    data_points: Vec::new(),
                    aggregation_temporality: CUMULATIVE,
                    is_monotonic: true,
                }),
                MetricKind::Gauge | MetricKind::Info | MetricKind::Histogram => {
                    MetricData::Gauge(Gauge::default())
                }
            };
            self.push(metric, (name, unit), data);
        }
        match self.metrics.last_mut().and_then(|last| last.data.as_mut()) {
            Some(MetricData::Sum(Sum { data_points, .. }) | MetricData::Gauge(Gauge { data_points })) => {
                data_points
            }
            _ => unreachable!("histograms have no samples"),
        }
    }

    fn push(&mut self, metric: &family::Metric, (name, unit): (String, &'static str), data: MetricData) {
        let description = metric.help.to_owned();
        self.metrics.push(OtlpMetric { name, description, unit: unit.to_owned(), data: Some(data) });
    }
}

impl Sink for Batch {
    fn sample(&mut self, metric: &family::Metric, labels: &[(&'static str, &str)], value: MetricValue) {
        let value = match value {
            MetricValue::Whole(number) => NumberValue::Int(number.try_into().unwrap_or(i64::MAX)),
            MetricValue::Ms(ms) => NumberValue::Double(ms as f64 / 1_000.0),
        };
        let (start_ns, time_unix_nano) = (self.start_ns, self.now_ns);
        let start_time_unix_nano = if metric.kind == MetricKind::Counter { start_ns } else { 0 };
        let attributes = labels.iter().map(|(label, text)| KeyValue::text(label, *text)).collect();
        let value = Some(value);
        let point = NumberDataPoint { start_time_unix_nano, time_unix_nano, value, attributes };
        self.points(metric).push(point);
    }

    fn spread(&mut self, metric: &family::Metric, spread: Spread<'_>) {
        let mut below = 0;
        let mut bucket_counts = Vec::with_capacity(spread.buckets.len() + 1);
        for bucket in spread.buckets {
            bucket_counts.push(bucket.count.saturating_sub(below));
            below = bucket.count;
        }
        bucket_counts.push(spread.count.saturating_sub(below));
        let point = HistogramDataPoint {
            start_time_unix_nano: self.start_ns,
            time_unix_nano: self.now_ns,
            // The sum of the buckets: counters may grow while they are read.
            count: bucket_counts.iter().sum(),
            sum: Some(spread.sum_ns as f64 / NANOS_PER_SECOND),
            bucket_counts,
            explicit_bounds: spread
                .buckets
                .iter()
                .map(|one| one.upper_ns as f64 / NANOS_PER_SECOND)
                .collect(),
            attributes: Vec::new(),
        };
        let data = MetricData::Histogram(OtlpHistogram {
            data_points: vec![point],
            aggregation_temporality: CUMULATIVE,
        });
        self.push(metric, otlp_name(metric), data);
    }
}

/// Name and unit in OpenTelemetry.
fn otlp_name(metric: &family::Metric) -> (String, &'static str) {
    let (name, unit) = match metric.name.strip_suffix("_seconds") {
        Some(name) => (name, "s"),
        None => metric.name.strip_suffix("_bytes").map_or((metric.name, ""), |name| (name, "By")),
    };
    let info = if metric.kind == MetricKind::Info { "_info" } else { "" };
    (format!("slidegate.{name}{info}"), unit)
}
