//! Figures of one step over many seeds.

use super::model::StepResult;
use super::scenarios::Scenario;

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

/// Figures of a scenario over many seeds.
#[derive(Clone, Debug)]
pub struct ScenarioSummary {
    /// Runs.
    pub runs: usize,
    /// Runs whose limit settles in every step with an overload.
    pub settled_runs: usize,
    /// Figures of the steps with an overload, by index.
    pub steps: Vec<(usize, StepSummary)>,
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

impl ScenarioSummary {
    /// Summary of the results of all runs. Steps without an overload have no figures: a limit does
    /// not matter there.
    pub fn of(scenario: &Scenario, runs: &[Vec<StepResult>]) -> Self {
        let overloads = scenario.steps.iter().enumerate().filter(|(_, step)| step.load() > 1.0);
        let overloads: Vec<usize> = overloads.map(|(index, _)| index).collect();
        let is_settled = |run: &&Vec<StepResult>| overloads.iter().all(|index| run[*index].is_settled());
        let settled_runs = runs.iter().filter(is_settled).count();
        let summary = |index: &usize| {
            let results: Vec<&StepResult> = runs.iter().map(|run| &run[*index]).collect();
            (*index, StepSummary::of(&results))
        };
        Self { runs: runs.len(), settled_runs, steps: overloads.iter().map(summary).collect() }
    }

    /// Share of the steps with an overload in which the limit settles, over all runs.
    pub fn settled_share(&self) -> f64 {
        let (runs, settled) = self
            .steps
            .iter()
            .fold((0, 0), |(runs, settled), (_, step)| (runs + step.runs, settled + step.settled));
        settled as f64 / runs as f64
    }

    /// Share of the runs in which it settles in every such step.
    pub fn settled_runs_share(&self) -> f64 {
        self.settled_runs as f64 / self.runs as f64
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
