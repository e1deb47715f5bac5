//! Random limits, costs and waits for seeded cases.

use std::time::Duration;

use slidegate::{Limit, LimitKind, MAX_QUOTA, Resolution};
use slidegate_testkit::cases::Rng;

/// A limit of any kind: mostly small, where edges meet; sometimes with as many units as 32 bits
/// hold, or more.
pub(crate) fn limit(rng: &Rng) -> Limit {
    let quota = match rng.below(8) {
        0 => rng.magnitude(MAX_QUOTA),
        // What a slot can and cannot hold.
        1 => (1 << 32) - 2 + rng.below(4),
        _ => rng.between(1, 12),
    };
    let window_ms = rng.pick(&[rng.between(1, 40), 1_000, 60_000]);
    let log = || Limit::new(quota, Duration::from_millis(window_ms));
    let built = match rng.below(6) {
        0 => log(),
        1 => {
            let resolution = Resolution::Ms(rng.magnitude(window_ms));
            log().map(|limit| limit.resolution(resolution).unwrap_or(limit))
        }
        2 => log().and_then(Limit::counter),
        3 => log().and_then(Limit::fixed),
        4 => {
            let burst = rng.magnitude((1 << 53) / window_ms).min(3 * quota).min(MAX_QUOTA);
            log().and_then(|limit| limit.gcra(burst))
        }
        _ => Limit::in_flight(quota.min(64), Duration::from_millis(window_ms)),
    };
    let limit = built.unwrap_or_else(|error| panic!("{quota} per {window_ms} ms: {error}"));
    rng.pick(&[limit, limit, limit.named("a"), limit.named("b")])
}

/// The same limit with another quota, where it allows that.
pub(crate) fn with_quota(limit: &Limit, quota: u64) -> Limit {
    let window = Duration::from_millis(limit.window_ms());
    let log = Limit::new(quota, window);
    let changed = match limit.kind() {
        LimitKind::Log { resolution_ms } => log.and_then(|log| log.resolution(Resolution::Ms(resolution_ms))),
        LimitKind::Counter => log.and_then(Limit::counter),
        LimitKind::Fixed => log.and_then(Limit::fixed),
        LimitKind::Gcra { burst } => log.and_then(|log| log.gcra(burst)),
        LimitKind::InFlight => Limit::in_flight(quota.min(64), window),
    };
    // The name of a limit cannot be read back, but both can be tried.
    let named = |changed: Limit| {
        let all = [changed, changed.named("a"), changed.named("b")];
        all.into_iter().find(|other| other.id() == limit.id())
    };
    changed.ok().and_then(named).unwrap_or(*limit)
}

/// Another limit with the same history: another quota, and another burst or resolution.
pub(crate) fn changed(rng: &Rng, limit: &Limit) -> Limit {
    let [head, quota, window_ms, extra] = limit.to_words();
    let most = if let LimitKind::InFlight = limit.kind() { 64 } else { MAX_QUOTA };
    let quota = rng.pick(&[1, quota, rng.between(1, 2 * quota), rng.magnitude(1 << 40)]).min(most);
    let extra = match limit.kind() {
        LimitKind::Gcra { .. } => rng.pick(&[1, extra, rng.between(1, 2 * extra), quota]),
        LimitKind::Log { .. } => rng.pick(&[1, extra, rng.between(1, window_ms)]),
        LimitKind::Counter | LimitKind::Fixed | LimitKind::InFlight => extra,
    };
    Limit::from_words([head, quota, window_ms, extra]).unwrap_or(*limit)
}

/// A cost with a liking for one unit, all of them, and one too many.
pub(crate) fn cost(rng: &Rng, limit: &Limit) -> u64 {
    let ceiling = limit.ceiling();
    match rng.below(12) {
        0 => 0,
        1 => ceiling,
        2 => ceiling + 1,
        3..=4 => rng.between(1, ceiling),
        5..=6 => rng.magnitude(ceiling),
        7 => ceiling.div_ceil(2),
        _ => 1,
    }
}

/// A wait with a liking for the edges of the limit's windows.
pub(crate) fn wait_ms(rng: &Rng, limit: &Limit, now_ms: u64) -> u64 {
    rng.wait_ms(limit.window_ms(), now_ms)
}
