//! The retry budget.

use slidegate_client::RetryBudget;
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;

const WINDOW_MS: u64 = 10_000;

/// Step of a client.
#[derive(Clone, Copy, Debug)]
enum BudgetStep {
    Sleep(u64),
    Request,
    /// A retry, if there is a budget, after a wait.
    Retry {
        wait_ms: u64,
    },
}

/// Takes as many retries as there are, and sends them at once.
fn retries(budget: &mut RetryBudget, now_ms: u64) -> usize {
    let count = (0..100).filter(|_| budget.try_retry(now_ms)).count();
    (0..count).for_each(|_| budget.record_retry(now_ms));
    count
}

#[test]
fn ten_retries_need_no_requests() {
    assert_eq!(retries(&mut RetryBudget::new(), 5_000), 10);
}

#[test]
fn a_fifth_of_the_requests_may_be_retried() {
    let mut budget = RetryBudget::new();
    (0..100).for_each(|_| budget.record_request(5_000));
    assert_eq!(retries(&mut budget, 5_000), 30);
}

#[test]
fn retries_leave_the_window() {
    let mut budget = RetryBudget::new();
    assert_eq!(retries(&mut budget, 0), 10);
    assert_eq!(retries(&mut budget, 10_000), 0);
    assert_eq!(retries(&mut budget, 11_000), 10);
    assert_eq!(retries(&mut budget, u64::MAX), 10);
}

#[test]
fn retries_count_while_they_wait() {
    let mut budget = RetryBudget::new();
    assert_eq!((0..100).filter(|_| budget.try_retry(0)).count(), 10);
    assert!(!budget.try_retry(60_000));
    budget.cancel_retry();
    assert!(budget.try_retry(60_000));
    assert!(!budget.try_retry(60_000));
}

#[test]
fn a_clock_that_goes_back_frees_nothing() {
    let mut budget = RetryBudget::new();
    let count: usize = (0..100).map(|step| retries(&mut budget, 50_000 - step * 400)).sum();
    assert_eq!(count, 10);
}

/// By a list of everything: in the 10 seconds to any retry, and in those to the last decision that
/// let one of them through.
#[test]
fn no_retry_exceeds_the_budget() {
    prove_part(
        10,
        |rng| ((), steps(rng)),
        |(), steps| {
            let mut client = BudgetClient::default();
            for step in steps {
                client.step(*step);
            }
            client.step(BudgetStep::Sleep(100_000));
            for sent in &client.sent {
                let window = client.sent.iter().filter(|other| is_within(other.sent_ms, sent.sent_ms));
                let decided_ms = window.clone().map(|retry| retry.decided_ms).max().expect("itself");
                let requests =
                    client.requests_ms.iter().filter(|at_ms| is_within(**at_ms, decided_ms)).count();
                let retries = window.count();
                ensure!(retries <= requests / 5 + 10, "{retries} of {requests} to {}", sent.sent_ms);
            }
            Ok(())
        },
    );
}

/// Whether a time is in the window with this end.
fn is_within(at_ms: u64, end_ms: u64) -> bool {
    at_ms <= end_ms && end_ms - at_ms < WINDOW_MS
}

/// Client that remembers everything.
#[derive(Default)]
struct BudgetClient {
    budget: RetryBudget,
    now_ms: u64,
    requests_ms: Vec<u64>,
    waiting: Vec<RetryTimes>,
    sent: Vec<RetryTimes>,
}

#[derive(Clone, Copy)]
struct RetryTimes {
    decided_ms: u64,
    sent_ms: u64,
}

impl BudgetClient {
    fn step(&mut self, step: BudgetStep) {
        match step {
            BudgetStep::Sleep(ms) => self.sleep_until(self.now_ms + ms),
            BudgetStep::Request => {
                self.budget.record_request(self.now_ms);
                self.requests_ms.push(self.now_ms);
            }
            BudgetStep::Retry { wait_ms } => {
                if self.budget.try_retry(self.now_ms) {
                    self.waiting.push(RetryTimes { decided_ms: self.now_ms, sent_ms: self.now_ms + wait_ms });
                }
            }
        }
    }

    /// Sends what is due on the way, in order.
    fn sleep_until(&mut self, end_ms: u64) {
        self.waiting.sort_by_key(|retry| retry.sent_ms);
        let due = self.waiting.iter().take_while(|retry| retry.sent_ms <= end_ms).count();
        for retry in self.waiting.drain(..due) {
            self.budget.record_retry(retry.sent_ms);
            self.sent.push(retry);
        }
        self.now_ms = end_ms;
    }
}

fn steps(rng: &Rng) -> Vec<BudgetStep> {
    let step = |_| match rng.below(4) {
        0 => BudgetStep::Sleep(rng.magnitude(4_000)),
        1 => BudgetStep::Request,
        _ => BudgetStep::Retry { wait_ms: rng.magnitude(40_000) },
    };
    (0..rng.between(1, 300)).map(step).collect()
}
