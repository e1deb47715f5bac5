//! Suggestion: the limits of every route, with the numbers that they follow from.

use std::time::Duration;

use slidegate::{Limit, LimitError};

use super::quota::PeakTable;
use super::routes::SuggestedRoute;
use super::subjects::SubjectSample;
use super::{RouteCounter, RouteCounts, SuggestCounts, SuggestPhase, SuggestSettings, Suggester};

/// Part of a capacity that a suggestion uses, in percent.
const CAPACITY_PERCENT: u64 = 85;
/// Standard deviations of a 95 % interval.
const Z: f64 = 1.96;
const MILLION: u64 = 1_000_000;

/// Suggestion of limits.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// Numbers of requests.
    pub counts: SuggestCounts,
    /// Part of the subjects that was counted.
    pub sample: SubjectSample,
    /// Routes that had requests: the largest first, the rest last.
    pub routes: Vec<RouteSuggestion>,
    /// Limit of all requests.
    pub capacity: Option<CapacitySuggestion>,
}

/// Suggestion for a route.
#[derive(Clone, Debug)]
pub struct RouteSuggestion {
    /// The route.
    pub route: SuggestedRoute,
    /// Paths of it.
    pub examples: Vec<String>,
    /// Number of requests.
    pub requests: u64,
    /// Requests that lack an attribute of the key. They are not counted.
    pub lacking_key: u64,
    /// Number of subjects in the sample.
    pub subjects: usize,
    /// Number of them that the limits may touch.
    pub may_touch: usize,
    /// Number of them that the limits touch.
    pub touched: usize,
    /// Share of all subjects that the limits touch, if only some were counted.
    pub interval: Option<TouchedInterval>,
    /// One for each window, the shortest first; empty without subjects.
    pub limits: Vec<LimitSuggestion>,
}

/// Suggestion for a window of a route.
#[derive(Clone, Debug)]
pub struct LimitSuggestion {
    /// The limit.
    pub limit: Limit,
    /// Peak that half of the subjects do not exceed.
    pub p50: u64,
    /// Peak that 90 % of the subjects do not exceed.
    pub p90: u64,
    /// Peak that 99 % of the subjects do not exceed.
    pub p99: u64,
    /// Largest peak.
    pub max: u64,
    /// Number of subjects that this limit touches.
    pub touched: usize,
    /// Shorter limit that admits no more than this quota in the longer window: this limit is left
    /// out.
    pub implied_by: Option<Limit>,
}

/// Share of subjects with a probability of 95 %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TouchedInterval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// Limit of all requests together.
#[derive(Clone, Copy, Debug)]
pub struct CapacitySuggestion {
    /// What the service can take.
    pub capacity: Limit,
    /// The limit.
    pub limit: Limit,
    /// Largest number of requests in a window.
    pub demand: u64,
}

impl TouchedInterval {
    /// Interval of Wilson.
    fn new(touched: usize, subjects: usize) -> Self {
        let (touched, subjects) = (touched as f64, subjects as f64);
        let middle = (touched + Z * Z / 2.0) / (subjects + Z * Z);
        let spread =
            Z * (touched * (subjects - touched) / subjects + Z * Z / 4.0).sqrt() / (subjects + Z * Z);
        Self { low: (middle - spread).max(0.0), high: (middle + spread).min(1.0) }
    }
}

/// Suggestion from what was counted.
pub(super) fn of(suggester: Suggester) -> Result<Suggestion, LimitError> {
    let Suggester { settings, subjects, total, phase, counts } = suggester;
    let (routes, of_routes) = match phase {
        SuggestPhase::Counting(RouteCounter { routes, counts }) => (routes.into_routes(), counts),
        SuggestPhase::Learning(_) => (Vec::new(), Vec::new()),
    };
    let windows: Vec<u64> = subjects.windows_ms().collect();
    let (tables, sample) = subjects.into_tables(routes.len());
    let mut suggestions = Vec::with_capacity(routes.len());
    for ((route, counts), table) in routes.into_iter().zip(of_routes).zip(tables) {
        if counts.requests > 0 {
            suggestions.push(of_route((route, counts), &table, (&windows, sample), &settings)?);
        }
    }
    let capacity = settings.capacity.zip(total).map(|(capacity, (_, counter))| {
        let quota = (capacity.quota() * CAPACITY_PERCENT / 100).max(1);
        let limit = Limit::new(quota, Duration::from_millis(capacity.window_ms()))?;
        Ok::<_, LimitError>(CapacitySuggestion { capacity, limit, demand: counter.peak().most() })
    });
    Ok(Suggestion { counts, sample, routes: suggestions, capacity: capacity.transpose()? })
}

fn of_route(
    (route, counts): (SuggestedRoute, RouteCounts),
    table: &PeakTable,
    (windows, sample): (&[u64], SubjectSample),
    settings: &SuggestSettings,
) -> Result<RouteSuggestion, LimitError> {
    let RouteCounts { requests, lacking_key, examples } = counts;
    let subjects = table.subjects();
    let share = subjects as u64 * u64::from(settings.touched_ppm) / MILLION;
    let may_touch = usize::try_from(share).unwrap_or(usize::MAX);
    let quotas = table.quotas(may_touch, settings.margin);
    let mut limits: Vec<LimitSuggestion> = Vec::new();
    for (window, (window_ms, quota)) in windows.iter().zip(&quotas.quotas).enumerate() {
        if subjects == 0 {
            break;
        }
        let limit = Limit::new(*quota, Duration::from_millis(*window_ms))?;
        let peaks = table.sorted(window);
        let rank = |percent: usize| peaks[(subjects * percent).div_ceil(100).max(1) - 1];
        limits.push(LimitSuggestion {
            limit,
            p50: rank(50),
            p90: rank(90),
            p99: rank(99),
            max: rank(100),
            touched: table.touched_in(window, *quota),
            implied_by: limits.iter().map(|shorter| shorter.limit).find(|shorter| implies(shorter, &limit)),
        });
    }
    let interval = (!sample.is_all() && subjects > 0).then(|| TouchedInterval::new(quotas.touched, subjects));
    let touched = quotas.touched;
    Ok(RouteSuggestion {
        route,
        examples,
        requests,
        lacking_key,
        subjects,
        may_touch,
        touched,
        interval,
        limits,
    })
}

/// Whether a limit of a shorter window makes one of a longer window redundant: together, the shorter
/// windows that cover a longer one admit no more than its quota.
fn implies(shorter: &Limit, longer: &Limit) -> bool {
    let windows = longer.window_ms().div_ceil(shorter.window_ms());
    shorter.quota().saturating_mul(windows) <= longer.quota()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_window_may_be_implied() {
        let limit = |text: &str| text.parse::<Limit>().expect("a limit");
        let rows = [("10/s", "600/min", true), ("10/s", "599/min", false), ("10/s", "20/1500ms", true)];
        for (shorter, longer, implied) in rows {
            assert_eq!(implies(&limit(shorter), &limit(longer)), implied, "{shorter} {longer}");
        }
    }

    /// The interval of 10 of 100, from a table.
    #[test]
    fn an_interval_is_that_of_wilson() {
        let TouchedInterval { low, high } = TouchedInterval::new(10, 100);
        assert!((low - 0.0552).abs() < 0.0001 && (high - 0.1744).abs() < 0.0001, "{low} {high}");
        assert_eq!(TouchedInterval::new(0, 100).low, 0.0);
    }
}
