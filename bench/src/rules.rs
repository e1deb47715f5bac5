//! Gates with one rule and with four, and the requests that they decide.

use slidegate::policy::Policy;
use slidegate::{Gate, Memory, Request};

use crate::arguments::Thoroughness;
use crate::report::{Must, Report, versus};
use crate::turn_times::TurnTimes;

/// Number of clients.
pub const CLIENTS: usize = 1_000;
/// Rounds of requests per turn.
pub const TIMES: usize = 10;
/// Most times that a request on four rules may cost what one on one rule does.
pub const MOST: f64 = 3.0;

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

/// Measures the time of requests on one rule and on four.
pub fn measure_times(report: &mut Report, thoroughness: Thoroughness) {
    report.say("\nns per check, one thread, 1,000 clients, a subject for each rule; in brackets four / one");
    report.row("", &["one rule", "four rules"].map(String::from));
    for case in RuleCase::ALL {
        let (one, four) = (RuleGate::new(case, 1), RuleGate::new(case, 4));
        let mut one = || (0..TIMES).for_each(|_| one.round());
        let mut four = || (0..TIMES).for_each(|_| four.round());
        let rounds = thoroughness.choose(101, 21);
        let times = TurnTimes::of(rounds, TIMES * CLIENTS, &mut [&mut one, &mut four]);
        let ratio = times.median(|round| round[1] / round[0]);
        report.row(&case.label(), &[format!("{:.1}", times.ns(0)), versus(times.ns(1), ratio)]);
        report.bar(format!("a check by four rules / by one, {}", case.label()), ratio, Must::AtMost(MOST));
    }
}
