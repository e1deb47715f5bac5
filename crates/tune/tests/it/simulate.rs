//! Simulations: the worst cases of the algorithms, and herds.

use slidegate::Limit;
use slidegate_tune::simulate::{
    HerdSettings, RETRY_RULES, RequestStream, RetryRule, Scenario, simulate_algorithms, simulate_herd,
};

/// Log, counter, fixed window and GCRA.
fn limits(limit: Limit) -> [Limit; 4] {
    let gcra = limit.gcra(limit.quota()).expect("a burst");
    [limit, limit.counter().expect("a counter"), limit.fixed().expect("a fixed window"), gcra]
}

fn most_in_window(scenario: Scenario, limit: Limit) -> [u64; 4] {
    let stream = RequestStream::new(scenario, limit, 1).expect("a stream");
    let results = simulate_algorithms(&stream, &limits(limit)).expect("limiters");
    for result in &results {
        assert_eq!(result.admitted + result.denied, stream.requests() as u64);
        assert!(result.most_in_window <= result.limit.worst_case(), "{result:?}");
        let of_course = result.course.iter().map(|point| point.admitted).max();
        assert_eq!(of_course, Some(result.most_in_window), "{scenario}");
    }
    [0, 1, 2, 3].map(|index| results[index].most_in_window)
}

/// 199 of 100 by the counter, twice the quota in a fixed window, none too many by the log.
#[test]
fn worst_cases_are_reached() {
    let limit = Limit::per_second(100);
    assert_eq!(most_in_window(Scenario::Adversary, limit), [100, 199, 199, 199]);
    assert_eq!(most_in_window(Scenario::EdgeBurst, limit), [100, 104, 200, 109]);
    assert_eq!(most_in_window(Scenario::Overload, limit)[0], 100);
}

/// The adversary needs no more requests than the counter admits.
#[test]
fn the_adversary_reaches_the_worst_case_of_any_counter() {
    for text in ["1/s", "5/min", "7/100ms", "1000/s", "2000/s", "600/min"] {
        let limit: Limit = text.parse().expect("a limit");
        let counter = limit.counter().expect("a counter");
        let stream = RequestStream::new(Scenario::Adversary, limit, 1).expect("a stream");
        let results = simulate_algorithms(&stream, &[counter]).expect("a limiter");
        assert_eq!((results[0].denied, results[0].most_in_window), (0, counter.worst_case()), "{text}");
    }
}

#[test]
fn the_same_seed_gives_the_same_stream() {
    let stream =
        |seed| RequestStream::new(Scenario::Overload, Limit::per_second(10), seed).expect("a stream");
    assert_eq!(stream(1), stream(1));
    assert_ne!(stream(1), stream(2));
}

#[test]
fn a_quota_that_cannot_be_simulated_is_an_error() {
    let limit = "1000000/s".parse().expect("a limit");
    let error = RequestStream::new(Scenario::EdgeBurst, limit, 1).expect_err("too large");
    assert!(error.to_string().contains("maximum is 100000"), "{error}");
}

/// The advice takes a fraction of the attempts of other rules, and no attempt is early.
#[test]
fn an_advised_herd_disperses() {
    let settings = HerdSettings { limit: Limit::per_second(100), clients: 2_000, seed: 1 };
    let results = RETRY_RULES.map(|rule| simulate_herd(&settings, rule).expect("a limiter"));
    for result in &results {
        assert_eq!(result.admitted, settings.clients, "{result:?}");
        assert_eq!(result.course.attempts.iter().sum::<u64>(), result.attempts);
        assert!(result.course.attempts.len() <= 256);
        assert!(result.rule == RetryRule::Backoff || result.early == 0, "{result:?}");
    }
    let [advised, jitter, exact, backoff] = results;
    assert!(advised.attempts * 2 < jitter.attempts.min(exact.attempts));
    assert!(advised.most_at_once * 4 < exact.most_at_once);
    assert!(backoff.early > 0);
    assert_eq!(exact.last_ms, settings.ideal_ms());
}

/// A day between two admissions: the course stays small.
#[test]
fn a_slow_herd_stays_small() {
    let settings = HerdSettings { limit: Limit::per_day(1), clients: 100, seed: 1 };
    let result = simulate_herd(&settings, RetryRule::Exact).expect("a limiter");
    assert_eq!((result.admitted, result.last_ms), (100, settings.ideal_ms()));
    assert!(result.course.attempts.len() <= 256);
}
