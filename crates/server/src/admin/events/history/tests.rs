use slidegate::telemetry::{Counts, Observer, ObserverSettings};

use super::*;

/// A line that has refused so often.
fn line(rule: &str, denied: u64) -> Line {
    let observed = Counts { denied: denied / 3, ..Counts::default() };
    let enforced = Counts { denied: denied - denied / 3, ..Counts::default() };
    Line { rule: rule.into(), limit: "5/min".into(), route: "/".into(), enforced, observed }
}

fn seen(at_ms: u64, lines: Vec<Line>) -> Seen {
    let observer = Observer::new(ObserverSettings::default());
    Seen { at_ms, totals: Totals::of(&observer, &lines), lines, latency: observer.latency() }
}

#[test]
fn lately_is_ten_seconds() {
    let mut past = Past::default();
    let at = |second: u64| vec![line("login", second * second), line("search", 7)];
    for second in 0..30 {
        let refused = past.refused(&at(second));
        let expected = match second {
            0 => 0,
            1..10 => second * second,
            _ => second * second - (second - 10) * (second - 10),
        };
        assert_eq!(refused, [expected, 0], "after {second} s");
        past.note(seen(second * 1_000, at(second)));
    }
}

/// Two lines are not mixed up because another policy has them in another order.
#[test]
fn another_policy_begins_anew() {
    let mut past = Past::default();
    past.note(seen(0, vec![line("login", 9), line("search", 1)]));
    let other = [line("search", 5), line("login", 9)];
    assert_eq!(past.refused(&other), [0, 0]);
    past.note(seen(1_000, other.to_vec()));
    assert_eq!(past.refused(&[line("search", 6), line("login", 9)]), [1, 0]);
    assert_eq!(past.refused(&other[..1]), [0]);
}

#[test]
fn history_has_an_end() {
    let mut past = Past::default();
    for second in 0..500 {
        past.note(seen(second, Vec::new()));
    }
    let at: Vec<u64> = past.history().iter().map(|moment| moment.at_ms).collect();
    assert_eq!(at, (380..500).collect::<Vec<u64>>());
}
