//! History of samples: totals for the charts, and the base of recent rates.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use slidegate::telemetry::{Latency, Series};

use super::quantiles::Quantiles;
use super::sample::{Sample, Totals};

/// Length of the charts, in samples of a second.
const CHART_SAMPLES: usize = 120;
/// Samples that recent rates cover.
const RECENT_SAMPLES: usize = 10;

/// History of samples.
#[derive(Default)]
pub(super) struct SampleHistory {
    points: VecDeque<HistoryPoint>,
    latencies: VecDeque<Latency>,
    /// Denials of each series.
    denials: VecDeque<Vec<u64>>,
    /// Rule, limit and route of each series.
    names: Vec<[Arc<str>; 3]>,
}

/// Point of a chart.
#[derive(Serialize)]
pub(super) struct HistoryPoint {
    at_ms: u64,
    totals: Totals,
    latency_us: Option<Quantiles>,
}

impl SampleHistory {
    /// Appends a sample.
    pub(super) fn push(&mut self, sample: Sample) {
        let Sample { at_ms, totals, series, latency } = sample;
        let latency_us = self.latency_us(&latency);
        push(&mut self.points, HistoryPoint { at_ms, totals, latency_us }, CHART_SAMPLES);
        push(&mut self.latencies, latency, RECENT_SAMPLES);
        if !self.has_names_of(&series) {
            // Another policy: its denials until now are not recent.
            self.names = series.iter().map(|one| name(one).map(Arc::clone)).collect();
            self.denials.clear();
        }
        push(&mut self.denials, series.iter().map(denied).collect(), RECENT_SAMPLES);
    }

    /// Points of the charts, the oldest first.
    pub(super) fn points(&self) -> &VecDeque<HistoryPoint> {
        &self.points
    }

    /// Latency of recent decisions; `None` if none was timed.
    pub(super) fn latency_us(&self, now: &Latency) -> Option<Quantiles> {
        match self.latencies.front() {
            Some(before) => Quantiles::of(&now.minus(before)),
            None => Quantiles::of(now),
        }
    }

    /// Recent denials of each series.
    pub(super) fn recent_denials(&self, series: &[Series]) -> Vec<u64> {
        match self.denials.front().filter(|_| self.has_names_of(series)) {
            Some(before) => {
                series.iter().zip(before).map(|(one, before)| denied(one).saturating_sub(*before)).collect()
            }
            None => vec![0; series.len()],
        }
    }

    fn has_names_of(&self, series: &[Series]) -> bool {
        series.iter().map(name).eq(self.names.iter().map(|names| names.each_ref()))
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T, max_len: usize) {
    if queue.len() == max_len {
        queue.pop_front();
    }
    queue.push_back(item);
}

fn name(series: &Series) -> [&Arc<str>; 3] {
    [&series.rule, &series.limit, &series.route]
}

/// Denials of a series, those in observe mode included.
pub(super) fn denied(series: &Series) -> u64 {
    series.enforced.denied + series.observed.denied
}

#[cfg(test)]
mod tests;
