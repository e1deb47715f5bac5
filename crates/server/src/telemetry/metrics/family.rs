//! Metric families: names, labels and help texts, and the sink of their samples.

/// Prefix of all names.
pub(crate) const PREFIX: &str = "slidegate_";

/// Kind of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetricKind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Distribution of durations.
    Histogram,
    /// Always 1; the information is in its labels.
    Info,
}

impl MetricKind {
    /// Suffix of sample names.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Info => "_info",
            Self::Gauge | Self::Histogram => "",
        }
    }
}

/// Metric. Its unit is the suffix of its name, `_seconds` or `_bytes`; without one it is a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Metric {
    /// Name without the prefix and without the suffix of the kind.
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) help: &'static str,
}

/// Value of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetricValue {
    Whole(u64),
    /// Milliseconds, written in seconds.
    Ms(u64),
}

/// Values of a histogram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread<'a> {
    pub(crate) buckets: &'a [HistogramBucket],
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
}

/// Cumulative bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HistogramBucket {
    pub(crate) upper_ns: u64,
    /// Upper bound in seconds, as text.
    pub(crate) upper: &'static str,
    pub(crate) count: u64,
}

/// Sink of samples, metric by metric.
pub(crate) trait Sink {
    /// Takes a sample.
    fn sample(&mut self, metric: &Metric, labels: &[(&'static str, &str)], value: MetricValue);

    /// Takes a histogram.
    fn spread(&mut self, metric: &Metric, spread: Spread<'_>);
}

/// Metric with `N` labels.
#[derive(Debug)]
pub(crate) struct Family<const N: usize> {
    metric: Metric,
    labels: [&'static str; N],
}

impl<const N: usize> Family<N> {
    pub(crate) const fn counter(name: &'static str, labels: [&'static str; N], help: &'static str) -> Self {
        Self { metric: Metric { name, kind: MetricKind::Counter, help }, labels }
    }

    pub(crate) const fn gauge(name: &'static str, labels: [&'static str; N], help: &'static str) -> Self {
        Self { metric: Metric { name, kind: MetricKind::Gauge, help }, labels }
    }

    pub(crate) const fn info(name: &'static str, labels: [&'static str; N], help: &'static str) -> Self {
        Self { metric: Metric { name, kind: MetricKind::Info, help }, labels }
    }

    /// Passes a sample to the sink, with a value for every label.
    pub(crate) fn put(&self, sink: &mut dyn Sink, values: [&str; N], number: impl Into<MetricValue>) {
        let labels: [_; N] = std::array::from_fn(|at| (self.labels[at], values[at]));
        sink.sample(&self.metric, &labels, number.into());
    }
}

impl Family<0> {
    pub(crate) const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self { metric: Metric { name, kind: MetricKind::Histogram, help }, labels: [] }
    }

    /// Passes a histogram to the sink.
    pub(crate) fn put_spread(&self, sink: &mut dyn Sink, spread: Spread<'_>) {
        sink.spread(&self.metric, spread);
    }
}

impl From<u64> for MetricValue {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<usize> for MetricValue {
    fn from(number: usize) -> Self {
        Self::Whole(number as u64)
    }
}

impl From<bool> for MetricValue {
    fn from(is: bool) -> Self {
        Self::Whole(u64::from(is))
    }
}

/// Metric with any number of labels.
#[cfg(test)]
pub(crate) trait MetricDescription {
    fn metric(&self) -> Metric;
    fn labels(&self) -> &[&'static str];
}

#[cfg(test)]
impl<const N: usize> MetricDescription for Family<N> {
    fn metric(&self) -> Metric {
        self.metric
    }

    fn labels(&self) -> &[&'static str] {
        &self.labels
    }
}
