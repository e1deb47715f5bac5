//! Settings out of range, and what a slot records.

use std::time::{Duration, Instant};

use slidegate::adaptive::{Adaptive, AdaptiveLimiter, MAX_PARTITIONS, RequestCompletion};

#[test]
fn errors_name_the_setting_and_its_range() {
    let gradient = Adaptive::gradient;
    let many = (0..=MAX_PARTITIONS).fold(gradient(), |a, index| a.partition(index.to_string(), 0.0));
    let cases = [
        (
            gradient().min(0),
            "expected 1 <= min <= initial <= max <= 1000000, found min 0, initial 20, max 1000",
        ),
        (
            gradient().max(10),
            "expected 1 <= min <= initial <= max <= 1000000, found min 4, initial 20, max 10",
        ),
        (gradient().tolerance(1.0), "tolerance must be between 1.01 and 100, not 1"),
        (gradient().tolerance(f64::NAN), "tolerance must be between 1.01 and 100, not NaN"),
        (gradient().smoothing(1.5), "smoothing must be between 0.01 and 1, not 1.5"),
        (gradient().window(Duration::ZERO), "window (ms) must be between 10 and 60000, not 0"),
        (gradient().partition("a", -0.1), "share of a partition must be between 0 and 1, not -0.1"),
        (
            gradient().partition("a", 0.9).partition("b", 0.2),
            "the shares of the partitions add up to 1.1: lower them to 1 or less",
        ),
        (
            gradient().partition("a", 0.1).partition("a", 0.2),
            "two partitions have the name `a`: rename one of them or add their shares",
        ),
        (many, "a limiter has at most 16 partitions, not 17"),
    ];
    for (adaptive, message) in cases {
        assert_eq!(adaptive.build().expect_err(message).to_string(), message);
    }
    let aimd = Adaptive::aimd(Duration::from_millis(10)).backoff(1.0).build();
    assert_eq!(aimd.expect_err("no backoff").to_string(), "backoff must be between 0.1 and 0.99, not 1");
}

/// Serves so many requests from a time on, one after the other, each for 10 ms.
fn serve(limiter: &AdaptiveLimiter, start: Instant, requests: u32, completion: RequestCompletion) {
    for request in 0..requests {
        let now = start + Duration::from_millis(10) * request;
        let slot = limiter.try_acquire("", now).expect("nothing else runs");
        limiter.release(slot, now + Duration::from_millis(10), completion);
    }
}

#[test]
fn overload_lowers_the_limit_of_both_algorithms_and_ignored_requests_do_not() {
    let limiters = || {
        let gradient = Adaptive::gradient().min(1).initial(2).build();
        let aimd = Adaptive::aimd(Duration::from_secs(1)).min(1).initial(2).build();
        [gradient.expect("valid settings"), aimd.expect("valid settings")]
    };
    let start = Instant::now();
    for limiter in limiters() {
        serve(&limiter, start, 1_000, RequestCompletion::Overload);
        assert_eq!(limiter.limit(), 1, "{limiter:?}");
        serve(&limiter, start + Duration::from_secs(10), 1_000, RequestCompletion::Success);
        assert!(limiter.limit() > 1, "{limiter:?}");
    }
    for limiter in limiters() {
        serve(&limiter, start, 1_000, RequestCompletion::Ignored);
        assert_eq!(limiter.limit(), 2, "{limiter:?}");
    }
}

#[test]
fn a_limit_that_is_not_used_does_not_grow() {
    let limiter = Adaptive::aimd(Duration::from_secs(1)).initial(20).build().expect("valid settings");
    serve(&limiter, Instant::now(), 1_000, RequestCompletion::Success);
    assert_eq!(limiter.limit(), 20);
}

#[test]
fn only_the_first_record_of_a_slot_counts() {
    let limiter =
        Adaptive::aimd(Duration::from_millis(20)).min(1).initial(2).build().expect("valid settings");
    let start = Instant::now();
    for request in 0..1_000 {
        let now = start + Duration::from_millis(10) * request;
        let mut slot = limiter.try_acquire("", now).expect("nothing else runs");
        limiter.record(&mut slot, now + Duration::from_millis(1), RequestCompletion::Success);
        assert_eq!(limiter.in_flight(), 1);
        limiter.release(slot, now + Duration::from_secs(5), RequestCompletion::Overload);
    }
    assert_eq!(limiter.in_flight(), 0);
    assert!(limiter.limit() >= 2, "a long body is no latency: {}", limiter.limit());
}

#[test]
fn usage_counts_by_partition() {
    let adaptive = Adaptive::gradient().initial(4).partition("live", 0.5).partition("batch", 0.25);
    let limiter = adaptive.build().expect("valid settings");
    let now = Instant::now();
    let slots: Vec<_> = ["batch", "batch", "", "batch", "batch", "live", ""]
        .into_iter()
        .filter_map(|name| limiter.try_acquire(name, now))
        .collect();
    let usage = limiter.usage();
    assert_eq!((usage.limit, usage.in_flight, usage.admitted, usage.refused), (4, 5, 5, 2));
    let [live, batch] = &usage.partitions[..] else { panic!("{usage:?}") };
    assert_eq!((&*live.name, live.guaranteed, live.in_flight), ("live", 2, 1));
    assert_eq!((live.admitted, live.refused), (1, 0));
    assert_eq!((&*batch.name, batch.guaranteed, batch.in_flight), ("batch", 1, 3));
    assert_eq!((batch.admitted, batch.refused), (3, 1));
    assert_eq!(limiter.refused(), 2);
    for slot in slots {
        limiter.release(slot, now, RequestCompletion::Success);
    }
    let usage = limiter.usage();
    assert_eq!((usage.in_flight, usage.admitted, usage.refused), (0, 5, 2));
}
