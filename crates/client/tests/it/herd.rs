//! A herd: 10,000 requests that start at once, on one key of 100 a second.
//!
//! A closed loop in virtual time. The real limiter decides, and clients see what a server sends:
//! `Retry-After` in seconds, rounded up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use slidegate::{Limit, Limiter, ManualClock};
use slidegate_client::{Advice, Exchange, RetryBudget, RetrySettings, advice};
use slidegate_testkit::cases::Rng;

const REQUESTS: usize = 10_000;
const RATE: u32 = 100;
const IDEAL_MS: u64 = REQUESTS as u64 * 1_000 / RATE as u64;
const START_MS: u64 = 1_795_014_000_000;
const SEEDS: [u64; 3] = [1, 2, 3];

/// Wait after a delay that the server demands, a number of refusals before, and a random number.
type WaitRule = fn(Duration, u32, u64) -> Duration;

/// Course of a herd.
#[derive(Default)]
struct HerdReport {
    /// Times of the attempts of each request, from the start.
    attempts_ms: Vec<Vec<u64>>,
    successes: usize,
    /// Requests that were given up for want of a budget.
    stops: usize,
    last_success_ms: u64,
}

impl HerdReport {
    fn attempts(&self) -> usize {
        self.attempts_ms.iter().map(Vec::len).sum()
    }

    /// Most attempts in any 100 ms after the first 100 ms, wherever they start.
    fn peak(&self) -> usize {
        let mut times_ms: Vec<u64> = self.attempts_ms.iter().flatten().copied().collect();
        times_ms.retain(|at_ms| *at_ms >= 100);
        times_ms.sort_unstable();
        let count = |(index, at_ms): (usize, &u64)| {
            index + 1 - times_ms.partition_point(|other_ms| other_ms + 100 <= *at_ms)
        };
        times_ms.iter().enumerate().map(count).max().expect("retries")
    }
}

/// One request for each client, and no bound on the number of retries.
#[test]
fn a_herd_disperses() {
    for seed in SEEDS {
        let report = run(None, advised_wait, seed);
        assert_eq!(report.successes, REQUESTS);
        let attempts = report.attempts();
        assert!(attempts <= 8 * REQUESTS, "{attempts} attempts, seed {seed}");
        let drained_ms = report.last_success_ms;
        assert!(drained_ms <= IDEAL_MS * 3 / 2, "drained after {drained_ms} ms, seed {seed}");
        let peak = report.peak();
        assert!(peak * 100 <= REQUESTS * 12, "{peak} attempts in 100 ms, seed {seed}");
        println!("seed {seed}: {attempts} attempts, drained after {drained_ms} ms, at most {peak} in 100 ms");
    }
}

/// Rules of other clients, for comparison: they wait the delay, and a part of it at most.
#[test]
fn other_rules_take_several_times_the_attempts() {
    let rules: [(&str, WaitRule); 3] = [
        ("exact", |delay, _, _| delay),
        ("and up to a fifth", |delay, _, random| {
            delay + delay.mul_f64(random as f64 / u64::MAX as f64 / 5.0)
        }),
        ("and up to as much", |delay, _, random| delay + delay.mul_f64(random as f64 / u64::MAX as f64)),
    ];
    let advised = run(None, advised_wait, 1).attempts();
    for (name, rule) in rules {
        let report = run(None, rule, 1);
        let attempts = report.attempts();
        assert!(attempts > 4 * advised, "{name}: {attempts} attempts");
        println!("{name}: {attempts} attempts, drained after {} ms", report.last_success_ms);
    }
}

#[test]
fn no_client_of_a_herd_exceeds_its_budget() {
    for (requests_per_client, seed) in [1, 20, 100].into_iter().flat_map(|n| SEEDS.map(|seed| (n, seed))) {
        let report = run(Some(requests_per_client), advised_wait, seed);
        assert_eq!(report.successes + report.stops, REQUESTS);
        for client in report.attempts_ms.chunks(requests_per_client) {
            let requests_ms: Vec<u64> = client.iter().map(|attempts_ms| attempts_ms[0]).collect();
            let retries_ms: Vec<u64> =
                client.iter().flat_map(|attempts_ms| &attempts_ms[1..]).copied().collect();
            for end_ms in &retries_ms {
                let in_window = |times: &[u64]| {
                    times.iter().filter(|at| **at <= *end_ms && end_ms - **at < 10_000).count()
                };
                let (requests, retries) = (in_window(&requests_ms), in_window(&retries_ms));
                assert!(retries <= requests / 5 + 10, "{retries} of {requests} to {end_ms} ms, seed {seed}");
            }
        }
        println!("seed {seed}, {requests_per_client} requests per client: {} stops", report.stops);
    }
}

/// Runs a herd until every request has succeeded or was given up. With a number of requests per
/// client, the requests of a client share a budget. No request may come early.
fn run(requests_per_client: Option<usize>, rule: WaitRule, seed: u64) -> HerdReport {
    let clock = ManualClock::new(START_MS);
    let limiter =
        Limiter::builder([Limit::per_second(RATE)]).clock(clock.clone()).build().expect("a limiter");
    let rng = Rng::new(seed);
    let mut budgets = vec![RetryBudget::new(); REQUESTS];
    let mut report = HerdReport { attempts_ms: vec![Vec::new(); REQUESTS], ..HerdReport::default() };
    let mut queue: BinaryHeap<_> = (0..REQUESTS).map(|request| Reverse((0, request))).collect();
    while let Some(Reverse((now_ms, request))) = queue.pop() {
        clock.set_ms(START_MS + now_ms);
        let mut budget = requests_per_client.map(|requests| &mut budgets[request / requests]);
        let attempt = report.attempts_ms[request].len() as u32;
        match &mut budget {
            Some(budget) if attempt == 0 => budget.record_request(now_ms),
            Some(budget) => budget.record_retry(now_ms),
            None => {}
        }
        report.attempts_ms[request].push(now_ms);
        let verdict = limiter.check("key");
        let Some(retry_after) = verdict.retry_after() else {
            report.successes += 1;
            report.last_success_ms = now_ms;
            continue;
        };
        if budget.is_some_and(|budget| !budget.try_retry(now_ms)) {
            report.stops += 1;
            continue;
        }
        let wait =
            rule(Duration::from_secs(retry_after.as_millis().div_ceil(1_000) as u64), attempt, rng.next());
        assert!(wait >= retry_after, "a request comes after {wait:?}, before {retry_after:?}");
        queue.push(Reverse((now_ms + wait.as_millis() as u64, request)));
    }
    report
}

/// Advised wait of a request that may be sent any number of times.
fn advised_wait(delay: Duration, attempt: u32, random: u64) -> Duration {
    let exchange = Exchange {
        method: &Method::GET,
        is_replayable: true,
        status: StatusCode::TOO_MANY_REQUESTS,
        headers: &HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from(delay.as_secs()))]),
        attempt,
        now_ms: START_MS,
    };
    let settings = RetrySettings { max_attempts: u32::MAX, ..RetrySettings::default() };
    match advice(&exchange, &settings) {
        Advice::Wait(backoff) => backoff.duration(random),
        Advice::Stop(stop) => panic!("{stop} after a delay of {delay:?}"),
    }
}
