use slidegate::telemetry::{SeriesCounts, Telemetry, TelemetrySettings};

use super::*;

/// A line that has refused so often.
fn line(rule: &str, denied: u64) -> Series {
    let observed = SeriesCounts { denied: denied / 3, ..SeriesCounts::default() };
    let enforced = SeriesCounts { denied: denied - denied / 3, ..SeriesCounts::default() };
    Series { rule: rule.into(), limit: "5/min".into(), route: "/".into(), enforced, observed }
}

fn sample(at_ms: u64, lines: Vec<Series>) -> Sample {
    let observer = Telemetry::new(TelemetrySettings::default());
    Sample { at_ms, totals: Totals::of(&observer, &lines), lines, latency: observer.latency() }
}

#[test]
fn lately_is_ten_seconds() {
    let mut history = History::default();
    let at = |second: u64| vec![line("login", second * second), line("search", 7)];
    for second in 0..30 {
        let refused = history.refused(&at(second));
        let expected = match second {
            0 => 0,
            1..10 => second * second,
            _ => second * second - (second - 10) * (second - 10),
        };
        assert_eq!(refused, [expected, 0], "after {second} s");
        history.note(sample(second * 1_000, at(second)));
    }
}

/// Two lines are not mixed up because another policy has them in another order.
#[test]
fn another_policy_begins_anew() {
    let mut history = History::default();
    history.note(sample(0, vec![line("login", 9), line("search", 1)]));
    let other = [line("search", 5), line("login", 9)];
    assert_eq!(history.refused(&other), [0, 0]);
    history.note(sample(1_000, other.to_vec()));
    assert_eq!(history.refused(&[line("search", 6), line("login", 9)]), [1, 0]);
    assert_eq!(history.refused(&other[..1]), [0]);
}

#[test]
fn history_has_an_end() {
    let mut history = History::default();
    for second in 0..500 {
        history.note(sample(second, Vec::new()));
    }
    let at: Vec<u64> = history.history().iter().map(|moment| moment.at_ms).collect();
    assert_eq!(at, (380..500).collect::<Vec<u64>>());
}
