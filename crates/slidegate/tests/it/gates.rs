//! Gates in memory, over policies written in a test.

use slidegate::policy::Policy;
use slidegate::{Answer, CheckRequest, Gate, GateError, ManualClock, Memory, Request};

/// Late enough that no window began before 1970.
pub(crate) const START_MS: u64 = 1_000_000_000;

pub(crate) type Gated = Gate<Memory, ManualClock>;

/// The rules of a policy, in YAML.
pub(crate) fn policy(rules: &str) -> Policy {
    let text = format!("version: 1\nrules:\n{rules}");
    match Policy::parse("policy.yaml", &text) {
        Ok(policy) => policy,
        Err(errors) => panic!("{errors}"),
    }
}

/// A gate in memory, and its clock.
pub(crate) fn gate(rules: &str) -> (Gated, ManualClock) {
    let clock = ManualClock::new(START_MS);
    (Gate::new(policy(rules), Memory::default()).clock(clock.clone()), clock)
}

/// A request with these attributes: `"path=/login user=alice"`.
pub(crate) fn request(attributes: &str) -> Request<'_> {
    let pairs = attributes.split_whitespace().map(|pair| pair.split_once('=').expect("name=value"));
    pairs.fold(Request::new(), |request, (name, value)| request.with(name, value))
}

pub(crate) async fn ask(gate: &Gated, ask: &CheckRequest<'_>) -> Answer {
    match gate.check(ask).await {
        Ok(answer) => answer,
        Err(GateError::Store(never)) => match never {},
        Err(error) => panic!("{error}"),
    }
}

pub(crate) async fn check(gate: &Gated, attributes: &str) -> Answer {
    ask(gate, &CheckRequest::from(request(attributes))).await
}

/// What every limit has left: `"login-5/min 4, all-10/s 9"`.
pub(crate) fn left(answer: &Answer) -> String {
    let left = answer.limits().map(|limit| format!("{} {}", limit.name, limit.decision.remaining));
    left.collect::<Vec<_>>().join(", ")
}
