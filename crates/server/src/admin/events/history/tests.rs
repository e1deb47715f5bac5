use slidegate::telemetry::{SeriesCounts, Telemetry, TelemetrySettings};

use super::*;

/// Series with this number of denials.
fn series(rule: &str, denied: u64) -> Series {
    let observed = SeriesCounts { denied: denied / 3, ..SeriesCounts::default() };
    let enforced = SeriesCounts { denied: denied - denied / 3, ..SeriesCounts::default() };
    Series { rule: rule.into(), limit: "5/min".into(), route: "/".into(), enforced, observed }
}

fn sample(at_ms: u64, series: Vec<Series>) -> Sample {
    let telemetry = Telemetry::new(TelemetrySettings::default());
    Sample { at_ms, totals: Totals::of(&telemetry, &series), series, latency: telemetry.latency() }
}

#[test]
fn recent_is_ten_seconds() {
    let mut history = SampleHistory::default();
    let at = |second: u64| vec![series("login", second * second), series("search", 7)];
    for second in 0..30 {
        let recent = history.recent_denials(&at(second));
        let expected = match second {
            0 => 0,
            1..10 => second * second,
            _ => second * second - (second - 10) * (second - 10),
        };
        assert_eq!(recent, [expected, 0], "after {second} s");
        history.push(sample(second * 1_000, at(second)));
    }
}

/// Series are not confused if another policy has them in another order.
#[test]
fn another_policy_starts_again() {
    let mut history = SampleHistory::default();
    history.push(sample(0, vec![series("login", 9), series("search", 1)]));
    let other = [series("search", 5), series("login", 9)];
    assert_eq!(history.recent_denials(&other), [0, 0]);
    history.push(sample(1_000, other.to_vec()));
    assert_eq!(history.recent_denials(&[series("search", 6), series("login", 9)]), [1, 0]);
    assert_eq!(history.recent_denials(&other[..1]), [0]);
}

#[test]
fn the_history_is_bounded() {
    let mut history = SampleHistory::default();
    for second in 0..500 {
        history.push(sample(second, Vec::new()));
    }
    let at: Vec<u64> = history.points().iter().map(|point| point.at_ms).collect();
    assert_eq!(at, (380..500).collect::<Vec<u64>>());
}
