//! A herd: clients that send a request at the same time, are refused, and come again.
//!
//! A closed loop: the next attempt of a client follows from the answer to its last. Clients see what
//! a server sends, `Retry-After` in seconds, rounded up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use slidegate::{Limit, Limiter, ManualClock};
use slidegate_client::{Advice, Exchange, RetrySettings, advice};

use super::START_MS;
use super::random::SeededRandom;
use super::stream::StreamError;

/// Time in which attempts count as at once.
const AT_ONCE_MS: u64 = 100;
/// Points of the course of a herd.
const POINTS: usize = 256;
/// Attempts after which a simulation ends, whatever is left.
const MAX_ATTEMPTS: u64 = 20_000_000;
/// First and longest wait of exponential backoff.
const BACKOFF_MS: (u64, u64) = (1_000, 60_000);

/// Rule by which clients come again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryRule {
    /// The advice of `slidegate-client`: what the server demands, and jitter that doubles.
    Advised,
    /// What the server demands, and up to a fifth of it.
    Jitter,
    /// What the server demands, to the second.
    Exact,
    /// Exponential backoff with full jitter, whatever the server demands.
    Backoff,
}

/// All rules.
pub const RETRY_RULES: [RetryRule; 4] =
    [RetryRule::Advised, RetryRule::Jitter, RetryRule::Exact, RetryRule::Backoff];

/// Settings of a herd.
#[derive(Clone, Copy, Debug)]
pub struct HerdSettings {
    /// Limit, of one subject for all clients.
    pub limit: Limit,
    /// Number of clients.
    pub clients: u64,
    /// Seed of the jitter.
    pub seed: u64,
}

/// Result of a herd.
#[derive(Clone, Debug)]
pub struct HerdResult {
    /// Rule of the clients.
    pub rule: RetryRule,
    /// Attempts of all clients.
    pub attempts: u64,
    /// Clients that were admitted.
    pub admitted: u64,
    /// Attempts before the server had said that one would be admitted.
    pub early: u64,
    /// Time at which the last client was admitted, from the start.
    pub last_ms: u64,
    /// Most attempts in a tenth of a second, after the first one.
    pub most_at_once: u64,
    /// Attempts over time.
    pub course: HerdCourse,
}

/// Attempts over time, in steps that become longer as the time goes on.
#[derive(Clone, Debug)]
pub struct HerdCourse {
    /// Length of a step.
    pub step_ms: u64,
    /// Attempts in each step.
    pub attempts: Vec<u64>,
}

impl HerdCourse {
    fn add(&mut self, now_ms: u64) {
        while now_ms / self.step_ms >= POINTS as u64 {
            self.step_ms *= 2;
            self.attempts = self.attempts.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        let step = (now_ms / self.step_ms) as usize;
        self.attempts.resize(self.attempts.len().max(step + 1), 0);
        self.attempts[step] += 1;
    }

    /// Attempts in steps of this length, a multiple of the own one.
    pub(super) fn in_steps_of(&self, step_ms: u64) -> Vec<u64> {
        let steps = (step_ms / self.step_ms).max(1) as usize;
        self.attempts.chunks(steps).map(|attempts| attempts.iter().sum()).collect()
    }
}

impl HerdSettings {
    /// Time in which the limit admits all clients, if none is wasted.
    pub fn ideal_ms(&self) -> u64 {
        (self.clients.saturating_sub(1)) / self.limit.quota() * self.limit.window_ms()
    }
}

impl RetryRule {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Advised => "advised",
            Self::Jitter => "jitter",
            Self::Exact => "exact",
            Self::Backoff => "backoff",
        }
    }

    /// Wait after a number of refusals before this one.
    fn wait_ms(self, delay_s: u64, attempt: u32, random: u64) -> u64 {
        let delay_ms = delay_s * 1_000;
        let part = |of_ms: u64| ((u128::from(random) * u128::from(of_ms + 1)) >> 64) as u64;
        match self {
            Self::Advised => advised_ms(delay_s, attempt, random),
            Self::Jitter => delay_ms + part(delay_ms / 5),
            Self::Exact => delay_ms,
            Self::Backoff => {
                let (first_ms, longest_ms) = BACKOFF_MS;
                let factor = 1_u64.checked_shl(attempt).unwrap_or(u64::MAX);
                part(first_ms.saturating_mul(factor).min(longest_ms)).max(1)
            }
        }
    }
}

fn advised_ms(delay_s: u64, attempt: u32, random: u64) -> u64 {
    let exchange = Exchange {
        method: &Method::GET,
        is_replayable: true,
        status: StatusCode::TOO_MANY_REQUESTS,
        headers: &HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from(delay_s))]),
        attempt,
        now_ms: START_MS,
    };
    // Clients of a herd do not give up.
    let settings = RetrySettings { max_attempts: u32::MAX, max_wait_ms: u64::MAX };
    match advice(&exchange, &settings) {
        Advice::Wait(backoff) => backoff.duration(random).as_millis() as u64,
        Advice::Stop(_) => Duration::from_secs(delay_s).as_millis() as u64,
    }
}

/// Runs a herd whose clients come again by this rule, until every client is admitted.
pub fn simulate_herd(settings: &HerdSettings, rule: RetryRule) -> Result<HerdResult, StreamError> {
    let clock = ManualClock::new(START_MS);
    let limiter = Limiter::builder([settings.limit]).clock(clock.clone()).build()?;
    let mut random = SeededRandom::new(settings.seed);
    let mut result = HerdResult {
        rule,
        attempts: 0,
        admitted: 0,
        early: 0,
        last_ms: 0,
        most_at_once: 0,
        course: HerdCourse { step_ms: AT_ONCE_MS, attempts: Vec::new() },
    };
    // Step of the last attempt, and the attempts in it.
    let mut at_once = (0, 0);
    // Time of an attempt, the client, its refusals so far, and the time that the server said.
    let mut queue: BinaryHeap<_> =
        (0..settings.clients).map(|client| Reverse((0, client, 0_u32, 0))).collect();
    while let Some(Reverse((now_ms, client, attempt, promised_ms))) = queue.pop() {
        if result.attempts == MAX_ATTEMPTS {
            break;
        }
        clock.set_ms(START_MS + now_ms);
        result.attempts += 1;
        result.course.add(now_ms);
        let step = now_ms / AT_ONCE_MS;
        at_once = if at_once.0 == step { (step, at_once.1 + 1) } else { (step, 1) };
        if step > 0 {
            result.most_at_once = result.most_at_once.max(at_once.1);
        }
        result.early += u64::from(now_ms < promised_ms);
        let Some(retry_after_ms) = limiter.check("subject").retry_after_ms() else {
            result.admitted += 1;
            result.last_ms = now_ms;
            continue;
        };
        let delay_s = retry_after_ms.div_ceil(1_000);
        let wait_ms = rule.wait_ms(delay_s, attempt, random.next());
        queue.push(Reverse((now_ms + wait_ms, client, attempt.saturating_add(1), now_ms + retry_after_ms)));
    }
    Ok(result)
}
