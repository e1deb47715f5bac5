//! Figures of one step over many seeds.

use super::model::StepResult;

/// Lowest, median and highest of some figures.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// Lowest.
    pub lowest: f64,
    /// Median.
    pub median: f64,
    /// Highest.
    pub highest: f64,
}

/// Figures of one step over many seeds.
#[derive(Clone, Debug)]
pub struct StepSummary {
    /// Runs.
    pub runs: usize,
    /// Runs whose limit ends within a fifth of the capacity.
    pub settled: usize,
    /// Limit of the last third, as a multiple of the capacity.
    pub limit: Range,
    /// Throughput of the last third, as a multiple of what the capacity can serve.
    pub throughput: Range,
    /// Seconds until the limit has settled; that of the whole step if it never does.
    pub settling_s: Range,
    /// Requests refused within the guaranteed share of their partition.
    pub undercut: u64,
}

impl Range {
    fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).copied().unwrap_or(f64::NAN);
        Self { lowest: at(0), median: at(figures.len() / 2), highest: at(figures.len().saturating_sub(1)) }
    }
}

impl StepSummary {
    /// Summary of the results of one step.
    pub fn of(results: &[&StepResult]) -> Self {
        let settling_s = |result: &&StepResult| result.settling_s().unwrap_or(result.limits.len()) as f64;
        Self {
            runs: results.len(),
            settled: results.iter().filter(|result| result.is_settled()).count(),
            limit: Range::of(results.iter().map(|result| result.limit())),
            throughput: Range::of(results.iter().map(|result| result.throughput)),
            settling_s: Range::of(results.iter().map(settling_s)),
            undercut: results.iter().map(|result| result.undercut).sum(),
        }
    }
}
