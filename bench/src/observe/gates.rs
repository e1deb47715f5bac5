//! Gates that are asked the same, with an observer and without.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use slidegate::policy::Policy;
use slidegate::telemetry::{DenialDetail, Telemetry, TelemetrySettings};
use slidegate::{CheckRequest, Gate, Memory, Request};

/// Case of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Way of the call.
    pub way: Way,
    /// Answer to all requests.
    pub answer: Answer,
    /// Number of rules that apply.
    pub rules: usize,
}

/// Way of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// [`Gate::check_now`], without a future.
    AtOnce,
    /// [`Gate::check`].
    Future,
}

/// Answer of a gate to all requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Come in.
    Allowed,
    /// One of the rules has no room.
    Denied,
}

impl Case {
    /// All keys.
    pub fn all() -> impl Iterator<Item = Self> {
        let ways = [Way::AtOnce, Way::Future].into_iter();
        let answers = |way| [Answer::Allowed, Answer::Denied].map(|answer| (way, answer));
        ways.flat_map(answers).flat_map(|(way, answer)| [1, 3].map(|rules| Self { way, answer, rules }))
    }

    /// Name in tables and on the command line: `at_once allowed 1`.
    pub fn words(&self) -> [&'static str; 3] {
        let way = if self.way == Way::AtOnce { "at_once" } else { "future" };
        let answer = if self.answer == Answer::Allowed { "allowed" } else { "denied" };
        [way, answer, if self.rules == 1 { "1" } else { "3" }]
    }

    fn policy(&self) -> Policy {
        let quota = if self.answer == Answer::Allowed { "1000000/s" } else { "1/day" };
        let mut text = String::from("version: 1\nrules:\n");
        for index in 1..self.rules {
            text += &format!("  - {{ name: more-{index}, key: [ip], limits: [1000000/s] }}\n");
        }
        text += &format!("  - {{ name: login, match: {{ path: /login }}, key: [ip], limits: [{quota}] }}\n");
        Policy::parse("policy.yaml", &text).expect("a policy")
    }
}

/// Lines of the denial log per second.
const LINES: u64 = 100;

/// Gate over a store in memory, with its clients.
#[derive(Debug)]
pub struct GateUnderTest {
    case: Case,
    gate: Gate<Memory>,
    clients: Vec<String>,
}

impl GateUnderTest {
    /// Gate without telemetry.
    pub fn plain(case: Case, clients: u32) -> Self {
        let clients = (0..clients).map(|client| format!("203.0.{}.{}", client >> 8, client & 255));
        Self { case, gate: Gate::new(case.policy(), Memory::default()), clients: clients.collect() }
    }

    /// Gate with telemetry and a listener for a few denials, as the denial log is.
    pub fn with_telemetry(case: Case, clients: u32) -> Self {
        let Self { gate, clients, .. } = Self::plain(case, clients);
        let observer = Telemetry::new(TelemetrySettings::default());
        let (hearing, records) = (Arc::clone(observer.interest()), AtomicU64::new(0));
        observer.on_denial(move |denial| {
            std::hint::black_box(denial.subject());
            if records.fetch_add(1, Ordering::Relaxed) == LINES {
                hearing.set(DenialDetail::Number);
            }
        });
        Self { case, gate: gate.observe(Arc::new(observer)), clients }
    }

    /// Checks every client once; the number of admissions.
    pub fn round(&self) -> usize {
        self.clients.iter().filter(|client| self.ask(client)).count()
    }

    /// Number of clients.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Expected number of admissions per round, after the first rounds.
    pub fn expected(&self) -> usize {
        if self.case.answer == Answer::Allowed { self.clients.len() } else { 0 }
    }

    /// Decides a request. The caller measures the time, as in the service.
    #[inline(always)]
    fn ask(&self, client: &str) -> bool {
        let Some(observer) = self.gate.telemetry() else { return self.decide(client) };
        let started = observer.start();
        let is_allowed = self.decide(client);
        observer.finish(started);
        is_allowed
    }

    #[inline(always)]
    fn decide(&self, client: &str) -> bool {
        let request = Request::new().with("method", "POST").with("path", "/login").with("ip", client);
        if self.case.way == Way::AtOnce {
            let answer = self.gate.check_now(&request).expect("a request");
            return answer.expect("the state is in memory").is_allowed();
        }
        let ask = CheckRequest::from(request);
        let mut check = pin!(self.gate.check(&ask));
        match check.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer.expect("an answer").is_allowed(),
            Poll::Pending => panic!("memory answers at once"),
        }
    }
}
