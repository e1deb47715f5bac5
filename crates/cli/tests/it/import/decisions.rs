//! A converted policy in memory, which decides step by step.

use slidegate::{Answer, CheckRequest, Gate, GateError, ManualClock, Memory, Outcome, Policy, Request};
use tokio::runtime::Runtime;

/// The start of a day, so that windows of a day and less begin then.
const START_MS: u64 = 20_000 * 86_400_000;

/// Converted policy over a store in memory.
pub(crate) struct ConvertedPolicy {
    gate: Gate<Memory, ManualClock>,
    clock: ManualClock,
    runtime: Runtime,
}

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// No limit is for it.
    Free,
    /// Within its limits.
    Pass,
    Fail,
    /// It passes, and a rule that looks on would have refused it.
    Shadow,
}

impl ConvertedPolicy {
    pub(crate) fn new(policy: &str) -> Self {
        let policy =
            Policy::parse("policy.yaml", policy).unwrap_or_else(|errors| panic!("{errors}\n{policy}"));
        let clock = ManualClock::new(START_MS);
        let gate = Gate::new(policy, Memory::default()).clock(clock.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { gate, clock, runtime }
    }

    pub(crate) fn wait_ms(&self, ms: u64) {
        self.clock.advance_ms(ms);
    }

    pub(crate) fn ask(&self, attributes: &[(&str, &str)]) -> Came {
        let request =
            attributes.iter().fold(Request::new(), |request, (name, value)| request.with(*name, *value));
        let answer = match self.runtime.block_on(self.gate.check(&CheckRequest::from(request))) {
            Ok(answer) => answer,
            Err(GateError::Store(never)) => match never {},
            Err(error) => panic!("{attributes:?}: {error}"),
        };
        came(&answer)
    }
}

fn came(answer: &Answer) -> Came {
    let (limits, observed) = (answer.limits().count(), answer.observed().count());
    let would_pass = answer.observed().all(|limit| limit.decision.outcome == Outcome::Fits);
    match (answer.is_allowed(), limits + observed, would_pass) {
        (false, _, _) => Came::Fail,
        (true, 0, _) => Came::Free,
        (true, _, true) => Came::Pass,
        (true, _, false) => Came::Shadow,
    }
}

/// The attributes of a descriptor of Envoy: its entries, what it is called and its domain.
pub(crate) fn of_descriptor<'a>(
    domain: &'a str,
    entries: &[(&'a str, &'a str)],
    names: &'a mut String,
) -> Vec<(&'a str, &'a str)> {
    let keys: Vec<&str> = entries.iter().map(|(key, _)| *key).collect();
    *names = keys.join(",");
    let mut attributes = vec![("domain", domain), ("descriptor", names.as_str())];
    attributes.extend(entries);
    attributes
}
