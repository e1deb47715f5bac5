//! The policy in virtual time: waits, budget, pauses and pace.

use std::ops::Range;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use slidegate_client::{Attempts, Retry, Stop};
use tokio::time::Instant;

use crate::environment::VirtualEnvironment;

const ORIGIN: &str = "https://api.example.com";
const REFUSED: StatusCode = StatusCode::TOO_MANY_REQUESTS;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    pairs.iter().map(pair).collect()
}

fn policy() -> Retry<VirtualEnvironment> {
    Retry::in_environment(VirtualEnvironment::new())
}

fn start(retry: &Retry<VirtualEnvironment>) -> Attempts<VirtualEnvironment> {
    retry.start(ORIGIN, Method::GET)
}

/// Milliseconds that the next attempt waits.
async fn wait_ms(attempts: &mut Attempts<VirtualEnvironment>) -> u128 {
    let start = Instant::now();
    attempts.ready().await;
    start.elapsed().as_millis()
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_waits_the_delay_and_jitter() {
    let (retry, headers) = (policy(), headers(&[("retry-after", "2")]));
    let mut attempts = start(&retry);
    assert_eq!(wait_ms(&mut attempts).await, 0);
    for most_ms in [4_000, 6_000, 10_000, 18_000] {
        assert_eq!(attempts.next(REFUSED, &headers, Some("copy")), Ok("copy"));
        let waited_ms = wait_ms(&mut attempts).await;
        assert!((2_000..=most_ms).contains(&waited_ms), "{waited_ms}");
    }
    assert_eq!(attempts.next(REFUSED, &headers, Some(())), Err(Stop::AttemptsExhausted));
}

#[tokio::test(start_paused = true)]
async fn without_a_copy_the_response_is_final() {
    let mut attempts = start(&policy());
    assert_eq!(attempts.next(REFUSED, &HeaderMap::new(), None::<()>), Err(Stop::NotReplayable));
    assert_eq!(attempts.next(StatusCode::OK, &HeaderMap::new(), Some(())), Err(Stop::NotRefused));
}

/// Starts requests that are refused, until one may not be sent again. The others wait.
fn exhaust(retry: &Retry<VirtualEnvironment>) -> Vec<Attempts<VirtualEnvironment>> {
    let mut waiting = Vec::new();
    loop {
        let mut attempts = start(retry);
        match attempts.next(REFUSED, &HeaderMap::new(), Some(())) {
            Ok(()) => waiting.push(attempts),
            Err(stop) => {
                assert_eq!(stop, Stop::BudgetExhausted);
                return waiting;
            }
        }
    }
}

/// Result of a new request that is refused, and given up.
fn refuse(retry: &Retry<VirtualEnvironment>, origin: &str) -> Result<(), Stop> {
    retry.start(origin, Method::GET).next(REFUSED, &HeaderMap::new(), Some(()))
}

#[tokio::test(start_paused = true)]
async fn the_budget_is_that_of_the_origin() {
    let retry = policy();
    let mut waiting = exhaust(&retry);
    // Ten, and one for every five requests.
    assert_eq!(waiting.len(), 12);
    assert_eq!(refuse(&retry, ORIGIN), Err(Stop::BudgetExhausted));
    assert_eq!(refuse(&retry, "https://other.example.com"), Ok(()));
    // One that is given up leaves the budget to another.
    waiting.pop();
    waiting.extend(exhaust(&retry));
    assert!(waiting.len() >= 12);
    for attempts in &mut waiting {
        attempts.ready().await;
    }
    // What was sent counts for ten seconds.
    assert_eq!(refuse(&retry, ORIGIN), Err(Stop::BudgetExhausted));
    tokio::time::advance(Duration::from_secs(11)).await;
    assert_eq!(refuse(&retry, ORIGIN), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn of_too_many_origins_the_least_recent_is_forgotten() {
    let retry = policy();
    let _waiting = exhaust(&retry);
    let visit = async |numbers: Range<u32>| {
        for number in numbers {
            tokio::time::advance(Duration::from_millis(1)).await;
            retry.start(number.to_string(), Method::GET);
        }
    };
    visit(0..1_023).await;
    assert_eq!(refuse(&retry, ORIGIN), Err(Stop::BudgetExhausted));
    visit(1_023..2_047).await;
    assert_eq!(refuse(&retry, ORIGIN), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_pause_applies_to_all_requests_of_the_origin() {
    let retry = policy().pause_origins();
    let mut refused = start(&retry);
    let result = refused.next(REFUSED, &headers(&[("retry-after", "5")]), None::<()>);
    assert_eq!(result, Err(Stop::NotReplayable));
    let mut waits = Vec::new();
    let mut other = retry.start("https://other.example.com", Method::GET);
    assert_eq!(wait_ms(&mut other).await, 0);
    let requests = (0..10).map(|_| start(&retry));
    let tasks: Vec<_> =
        requests.map(|mut request| tokio::spawn(async move { wait_ms(&mut request).await })).collect();
    for task in tasks {
        waits.push(task.await.expect("a wait"));
    }
    assert!(waits.iter().all(|wait_ms| (5_000..=10_000).contains(wait_ms)), "{waits:?}");
    waits.sort_unstable();
    waits.dedup();
    assert!(waits.len() > 5, "{waits:?}");
    // It is over.
    assert_eq!(wait_ms(&mut start(&retry)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn pauses_are_opt_in_and_bounded() {
    let long = headers(&[("retry-after", "61")]);
    for retry in [policy(), policy().pause_origins()] {
        let mut attempts = start(&retry);
        assert_eq!(attempts.next(REFUSED, &long, Some(())), Err(Stop::WaitTooLong));
        assert_eq!(wait_ms(&mut start(&retry)).await, 0);
    }
    let retry = policy();
    assert_eq!(start(&retry).next(REFUSED, &headers(&[("retry-after", "9")]), Some(())), Ok(()));
    assert_eq!(wait_ms(&mut start(&retry)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn requests_are_paced_when_little_is_left() {
    let retry = policy().pace_origins();
    let policy = ("ratelimit-policy", "\"burst\";q=50;w=60, \"day\";q=1000;w=86400");
    let plenty = headers(&[policy, ("ratelimit", "\"burst\";r=5;t=20, \"day\";r=100;t=50")]);
    assert_eq!(start(&retry).next(StatusCode::OK, &plenty, Some(())), Err(Stop::NotRefused));
    assert_eq!(wait_ms(&mut start(&retry)).await, 0);
    // 4 of 50 are left for 20 s.
    let little = headers(&[policy, ("ratelimit", "\"burst\";r=4;t=20, \"day\";r=100;t=50")]);
    assert_eq!(start(&retry).next(StatusCode::OK, &little, Some(())), Err(Stop::NotRefused));
    for _ in 0..4 {
        assert_eq!(wait_ms(&mut start(&retry)).await, 4_000);
    }
    // 16 s later. The quota is renewed in 4 s.
    assert_eq!(wait_ms(&mut start(&retry)).await, 4_000);
    assert_eq!(wait_ms(&mut start(&retry)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn no_turn_in_the_pace_is_further_away_than_the_longest_wait() {
    let retry = policy().pace_origins();
    let headers = headers(&[("ratelimit-policy", "day;q=1000"), ("ratelimit", "day;r=0;t=86400")]);
    assert_eq!(start(&retry).next(StatusCode::OK, &headers, Some(())), Err(Stop::NotRefused));
    assert_eq!(wait_ms(&mut start(&retry)).await, 60_000);
}
