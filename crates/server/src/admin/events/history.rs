//! History of samples: totals for the charts, and the base of recent rates.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use slidegate::telemetry::{Latency, Series};

use super::quantiles::Quantiles;
use super::sample::{Sample, Totals};

/// Seconds of history for the charts.
const HISTORY: usize = 120;
/// Seconds that recent rates cover.
const LATELY: usize = 10;

/// History of samples.
#[derive(Default)]
pub(super) struct History {
    history: VecDeque<Moment>,
    latencies: VecDeque<Latency>,
    refused: VecDeque<Vec<u64>>,
    /// Rule, limit and route of each count.
    names: Vec<[Arc<str>; 3]>,
}

/// A point of a chart.
#[derive(Serialize)]
pub(super) struct Moment {
    at_ms: u64,
    totals: Totals,
    latency_us: Option<Quantiles>,
}

impl History {
    /// Remembers a moment.
    pub(super) fn note(&mut self, sample: Sample) {
        let Sample { at_ms, totals, lines, latency } = sample;
        let latency_us = self.latency_us(&latency);
        push(&mut self.history, Moment { at_ms, totals, latency_us }, HISTORY);
        push(&mut self.latencies, latency, LATELY);
        if !self.is_of(&lines) {
            // Another policy: what was refused until now counts as refused before.
            self.names = lines.iter().map(|line| name(line).map(Arc::clone)).collect();
            self.refused.clear();
        }
        push(&mut self.refused, lines.iter().map(refused).collect(), LATELY);
    }

    /// The oldest first.
    pub(super) fn history(&self) -> &VecDeque<Moment> {
        &self.history
    }

    /// Latency of recent decisions; `None` if none was timed.
    pub(super) fn latency_us(&self, now: &Latency) -> Option<Quantiles> {
        match self.latencies.front() {
            Some(before) => Quantiles::of(&now.minus(before)),
            None => Quantiles::of(now),
        }
    }

    /// Recent denials of each line.
    pub(super) fn refused(&self, lines: &[Series]) -> Vec<u64> {
        match self.refused.front().filter(|_| self.is_of(lines)) {
            Some(before) => {
                lines.iter().zip(before).map(|(line, before)| refused(line).saturating_sub(*before)).collect()
            }
            None => vec![0; lines.len()],
        }
    }

    /// Whether the lines are those that it knows.
    fn is_of(&self, lines: &[Series]) -> bool {
        let mut names = self.names.iter();
        let same = |line: &Series| names.next().is_some_and(|known| name(line) == known.each_ref());
        self.names.len() == lines.len() && lines.iter().all(same)
    }
}

fn push<T>(queue: &mut VecDeque<T>, one: T, most: usize) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(one);
}

fn name(line: &Series) -> [&Arc<str>; 3] {
    [&line.rule, &line.limit, &line.route]
}

/// Denials of a line, those in observe mode included.
pub(super) fn refused(line: &Series) -> u64 {
    line.enforced.denied + line.observed.denied
}

#[cfg(test)]
mod tests;
