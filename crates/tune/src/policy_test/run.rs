//! Run of a test: a gate over an empty store, on a manual clock.

use std::collections::BTreeSet;
use std::fmt;

use slidegate::policy::Policy;
use slidegate::{Gate, ManualClock, Memory, Request};

use super::answer::StepAnswer;
use super::expectation::{Mismatch, duration};
use super::file::{PolicyTest, TestStep};

/// Result of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestResult {
    /// Name of the test.
    pub name: String,
    /// Line of the test in its file.
    pub line: usize,
    /// Number of requests.
    pub requests: u64,
    /// Steps whose answers differ from the expectation.
    pub failures: Vec<StepFailure>,
    /// Rules that applied to at least one request.
    pub rules: BTreeSet<String>,
}

/// Step whose answer differs from the expectation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepFailure {
    /// Line of the step in its file.
    pub line: usize,
    /// Number of the step in its test, from 1.
    pub step: usize,
    /// Number of the request in its step, from 1.
    pub request: u32,
    /// Number of requests of the step.
    pub times: u32,
    /// Time of the request since the start of the test.
    pub after_ms: u64,
    /// Attributes of the request.
    pub attributes: Vec<(String, String)>,
    /// Differences, at least one.
    pub mismatches: Vec<Mismatch>,
}

/// Results of the tests of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestFileResult {
    /// Name of the file.
    pub file: String,
    /// Name of the policy.
    pub policy: String,
    /// Tests, in the order of the file.
    pub tests: Vec<TestResult>,
    /// Rules of the policy that applied to no request of any test.
    pub untested_rules: Vec<String>,
}

impl TestResult {
    /// Whether all answers are as expected.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// `step 2 at 1s, request 3 of 5: method=POST path=/login`.
impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} at {}", self.step, duration(self.after_ms))?;
        if self.times > 1 {
            write!(f, ", request {} of {}", self.request, self.times)?;
        }
        let attributes = self.attributes.iter().map(|(name, value)| format!(" {name}={value}"));
        write!(f, ":{}", attributes.collect::<String>())
    }
}

impl TestFileResult {
    /// Results of tests under a policy.
    pub fn new(file: String, policy_name: String, policy: &Policy, tests: Vec<TestResult>) -> Self {
        let tested: BTreeSet<&String> = tests.iter().flat_map(|test| &test.rules).collect();
        let names = policy.rules().iter().map(|rule| rule.name().to_owned());
        let untested_rules = names.filter(|name| !tested.contains(name)).collect();
        Self { file, policy: policy_name, tests, untested_rules }
    }

    /// Number of tests that failed.
    pub fn failed(&self) -> usize {
        self.tests.iter().filter(|test| !test.passed()).count()
    }
}

/// Runs a test.
pub fn run(policy: &Policy, test: &PolicyTest) -> TestResult {
    let clock = ManualClock::new(test.start_ms);
    let gate = Gate::new(policy.clone(), Memory::default()).clock(clock.clone());
    let mut result = TestResult {
        name: test.name.clone(),
        line: test.line,
        requests: 0,
        failures: Vec::new(),
        rules: BTreeSet::new(),
    };
    for (index, step) in test.steps.iter().enumerate() {
        let request = request(step);
        let mut failure = None;
        for number in 1..=step.times {
            let at_ms = step.at_ms.saturating_add(step.every_ms.saturating_mul(u64::from(number - 1)));
            clock.set_ms(at_ms);
            result.requests += 1;
            let answer = answer(&gate, policy, &request);
            if number == 1 {
                result.rules.extend(answer.rules.iter().cloned());
            }
            if failure.is_none() {
                let mismatches = mismatches(step, number, &answer);
                failure = (!mismatches.is_empty()).then(|| StepFailure {
                    line: step.line,
                    step: index + 1,
                    request: number,
                    times: step.times,
                    after_ms: at_ms.saturating_sub(test.start_ms),
                    attributes: step.attributes.clone().into_iter().collect(),
                    mismatches,
                });
            }
        }
        result.failures.extend(failure);
    }
    result
}

fn request(step: &TestStep) -> Request<'_> {
    let attributes = step.attributes.iter();
    attributes.fold(Request::new().cost(step.cost), |request, (name, value)| {
        request.with(name.as_str(), value.as_str())
    })
}

fn answer(gate: &Gate<Memory, ManualClock>, policy: &Policy, request: &Request<'_>) -> StepAnswer {
    if let Err(error) = request.check() {
        return StepAnswer::invalid(error.to_string());
    }
    match gate.check_now(request) {
        Ok(answer) => {
            let answer = answer.expect("a gate over memory answers at once");
            StepAnswer::new(policy, request, &answer)
        }
        Err(error) => StepAnswer::invalid(error.to_string()),
    }
}

/// Differences of one request of a step. The numbers are those of the last one.
fn mismatches(step: &TestStep, number: u32, answer: &StepAnswer) -> Vec<Mismatch> {
    let Some(expectation) = &step.expectation else { return Vec::new() };
    let mut mismatches: Vec<Mismatch> = expectation.outcome_mismatch(answer).into_iter().collect();
    if number == step.times {
        mismatches.extend(expectation.mismatches(answer));
    }
    mismatches
}
