//! Settings out of range, and what a slot records.

use std::time::{Duration, Instant};

use slidegate::adaptive::{Adaptive, AdaptiveLimiter, Completion, MAX_PARTITIONS};

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
        (gradient().queue(0), "queue must be between 1 and 1000, not 0"),
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

/// Serves so many requests, one after the other, each for 10 ms.
fn serve(limiter: &AdaptiveLimiter, requests: u32, completion: Completion) {
    let start = Instant::now();
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
    for limiter in limiters() {
        serve(&limiter, 1_000, Completion::Overload);
        assert_eq!(limiter.limit(), 1, "{limiter:?}");
    }
    for limiter in limiters() {
        serve(&limiter, 1_000, Completion::Ignored);
        assert_eq!(limiter.limit(), 2, "{limiter:?}");
    }
}

#[test]
fn a_limit_that_is_not_used_does_not_grow() {
    let limiter = Adaptive::aimd(Duration::from_secs(1)).initial(20).build().expect("valid settings");
    serve(&limiter, 1_000, Completion::Success);
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
        limiter.record(&mut slot, now + Duration::from_millis(1), Completion::Success);
        assert_eq!(limiter.in_flight(), 1);
        limiter.release(slot, now + Duration::from_secs(5), Completion::Overload);
    }
    assert_eq!(limiter.in_flight(), 0);
    assert!(limiter.limit() >= 2, "a long body is no latency: {}", limiter.limit());
}
