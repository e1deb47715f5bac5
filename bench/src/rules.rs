//! Gates with one rule and with four, and the requests that they decide.

use slidegate::policy::Policy;
use slidegate::{Gate, Memory, Request};

/// Number of clients.
pub const CLIENTS: usize = 1_000;

/// Rules of a gate, and the answer that they give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleCase {
    /// Algorithm of all limits.
    pub algorithm: &'static str,
    /// Answer to every request: `allowed`, or `denied` by the last rule.
    pub answer: &'static str,
}

impl RuleCase {
    /// All cases.
    pub const ALL: [Self; 4] = [
        Self { algorithm: "counter", answer: "allowed" },
        Self { algorithm: "counter", answer: "denied" },
        Self { algorithm: "log", answer: "allowed" },
        Self { algorithm: "log", answer: "denied" },
    ];

    /// Text of a row.
    pub fn label(&self) -> String {
        format!("{}, {}", self.algorithm, self.answer)
    }
}

/// Gate with the rules of a case, and one request of each client.
pub struct RuleGate {
    case: RuleCase,
    gate: Gate<Memory>,
    requests: Vec<Request<'static>>,
}

impl RuleGate {
    /// Gate with this many rules, at most four, which all apply to every request. Each has a
    /// subject of its own for every client.
    pub fn new(case: RuleCase, rules: usize) -> Self {
        let RuleCase { algorithm, answer } = case;
        let mut text = String::from("version: 1\nrules:\n");
        for key in &["user", "org", "device"][..rules - 1] {
            text += &format!(
                "  - {{ name: per-{key}, key: [{key}], limits: [{{ quota: 1000000, window: 1min, algorithm: {algorithm} }}] }}\n"
            );
        }
        let quota =
            if answer == "allowed" { "quota: 1000000, window: 1min" } else { "quota: 1, window: 1day" };
        text += &format!(
            "  - {{ name: login, match: {{ path: /login }}, key: [ip], limits: [{{ {quota}, algorithm: {algorithm} }}] }}\n"
        );
        let request = |client: usize| {
            let request = Request::new().with("method", "POST").with("path", "/login");
            let request = request.with("ip", format!("203.0.{}.{}", client >> 8, client & 255));
            let request = request.with("user", format!("user-{client:06}"));
            request.with("org", format!("org-{client:06}")).with("device", format!("device-{client:06}"))
        };
        let policy = Policy::parse("policy.yaml", &text).expect("a policy");
        let gate = Self {
            case,
            gate: Gate::new(policy, Memory::default()),
            requests: (0..CLIENTS).map(request).collect(),
        };
        // What is admitted once is denied from then on.
        gate.requests.iter().for_each(|request| drop(gate.gate.check_now(request)));
        gate
    }

    /// Decides one request of every client.
    ///
    /// # Panics
    ///
    /// If one has another answer than that of the case.
    pub fn round(&self) {
        let allowed = self.requests.iter().filter(|request| self.decide(request)).count();
        assert_eq!(allowed, if self.case.answer == "allowed" { CLIENTS } else { 0 });
    }

    #[inline(always)]
    fn decide(&self, request: &Request<'_>) -> bool {
        let answer = self.gate.check_now(request).expect("a request");
        answer.expect("the state is in memory").is_allowed()
    }
}
