//! Test file: what to send, when, and what is expected of the answers.

use std::collections::BTreeMap;
use std::time::Duration;

use slidegate::policy::file::{Span, Spanned};
use slidegate::policy::format::{Fields, Format};
use slidegate::policy::yaml::{self, Options};
use slidegate::policy::{Diagnostics, Policy, PolicyErrors, closest};

use super::expectation::{Expectation, RuleName};
use super::format::{AttributeText, StepTime, TimestampMs};

/// Maximum size of a file.
const MAX_BYTES: usize = 1 << 20;

/// Maximum number of repetitions of a step.
const MAX_TIMES: u32 = 1_000_000;

/// Start of a test that gives none: Thursday, 2023-08-31T00:00:00Z, when windows of every usual
/// length up to a week begin.
const START_MS: u64 = 2_800 * 7 * 24 * 3_600 * 1_000;

/// Test file.
#[derive(Clone, Debug)]
pub struct TestFile {
    name: String,
    text: String,
    /// Policy file, relative to the folder of the test file.
    pub policy: Option<String>,
    /// Tests, in the order of the file.
    pub tests: Vec<PolicyTest>,
}

/// Test of a policy: steps in order, over an empty store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyTest {
    /// Name.
    pub name: String,
    /// Line in the file, from 1.
    pub line: usize,
    /// Start, in Unix milliseconds.
    pub start_ms: u64,
    /// Steps.
    pub steps: Vec<TestStep>,
}

/// Step of a test: a request, sent once or several times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestStep {
    /// Line in the file, from 1.
    pub line: usize,
    /// Time of the first request, in Unix milliseconds.
    pub at_ms: u64,
    /// Number of requests.
    pub times: u32,
    /// Time between two of them.
    pub every_ms: u64,
    /// Attributes.
    pub attributes: BTreeMap<String, String>,
    /// Cost of each request.
    pub cost: u64,
    /// Expectation of the answers; without one, any answer will do.
    pub expectation: Option<Expectation>,
}

slidegate::policy::section! {
    /// Test file.
    struct FileEntry: "a test file" as "TestFile" {
        /// Policy file that is tested, relative to the folder of this file.
        policy: Option<String>;
        /// Tests. Each starts with an empty store.
        tests: Vec<TestEntry> => "[{ name: …, steps: […] }]", { "minItems": 1 };
    }
}

slidegate::policy::section! {
    /// Test: steps in order, over an empty store.
    struct TestEntry: "a test" as "Test" {
        /// Name.
        name: Spanned<String> => "five logins a minute";
        /// Time at which the test starts. Default: a time at which windows of all usual lengths begin.
        start: Option<TimestampMs>;
        /// Steps.
        steps: Vec<Spanned<StepEntry>> => "[{ with: { path: /login }, expect: allowed }]", { "minItems": 1 };
    }
}

slidegate::policy::section! {
    /// Step: a request, sent once or several times, and what is expected of the answers.
    struct StepEntry: "a step" as "Step" {
        /// Time since the start of the test, or a timestamp. Default: the time of the step before.
        at: Option<Spanned<StepTime>>;
        /// Number of requests. All of them must have the expected outcome; the numbers are those of the last.
        times: Option<u32>;
        /// Time between two of them. Default: none.
        every: Option<Duration>;
        /// Attributes of the request.
        with: Option<BTreeMap<String, AttributeText>>;
        /// Cost of each request. 0 charges nothing.
        cost: Option<u64>;
        /// Expected answer. Default: any.
        expect: Option<Expectation>;
    }
    then check_times;
}

fn check_times(step: &mut StepEntry, fields: &Fields<'_>) {
    if !(1..=MAX_TIMES).contains(&step.times.unwrap_or(1)) {
        let at = fields.find("times").map_or(fields.head(), |entry| entry.value.at);
        let help = format!("write a number from 1 to {MAX_TIMES}, or remove the step");
        fields.report(at, "invalid number of requests", help);
    }
}

impl TestFile {
    /// Reads a file. Reports all errors.
    ///
    /// # Errors
    /// If the file is invalid.
    pub fn parse(name: &str, text: &str) -> Result<Self, PolicyErrors> {
        let diagnostics = Diagnostics::new(name, text);
        let file = read(text, &diagnostics);
        if file.as_ref().is_some_and(|file| file.tests.is_empty()) && diagnostics.is_empty() {
            let help = "add one, as in `- { name: …, steps: […] }`; `slidegate example --tests` prints some";
            diagnostics.report(Span::default(), "the file has no tests", help);
        }
        let (policy, tests) = file.map_or((None, Vec::new()), |FileEntry { policy, tests }| {
            (policy, tests.into_iter().map(|test| resolve(test, &diagnostics)).collect())
        });
        diagnostics.into_result()?;
        Ok(Self { name: name.to_owned(), text: text.to_owned(), policy, tests })
    }

    /// Checks that the policy has the rules that the expectations name.
    ///
    /// # Errors
    /// If an expectation names another rule.
    pub fn check_rules(&self, policy: &Policy) -> Result<(), PolicyErrors> {
        let diagnostics = Diagnostics::new(&self.name, &self.text);
        let names: Vec<&str> = policy.rules().iter().map(|rule| rule.name()).collect();
        let steps = self.tests.iter().flat_map(|test| &test.steps);
        let named = steps.filter_map(|step| step.expectation.as_ref()).flat_map(Expectation::rules);
        for RuleName { at, name } in named.filter(|rule| !names.contains(&&*rule.name)) {
            let message = match closest(name, &names) {
                Some(meant) => format!("unknown rule `{name}`: did you mean `{meant}`?"),
                None => format!("unknown rule `{name}`"),
            };
            diagnostics.report(*at, message, format!("the policy has the rules {}", names.join(", ")));
        }
        diagnostics.into_result()
    }
}

fn read(text: &str, diagnostics: &Diagnostics) -> Option<FileEntry> {
    if text.len() > MAX_BYTES {
        let message = format!("the file is too large: {} bytes", text.len());
        diagnostics.report(Span::default(), message, "the maximum is 1 MiB: split it");
        return None;
    }
    let Some(tree) = yaml::documents(text, &Options::POLICY, diagnostics)?.into_iter().next() else {
        let help = "start with `policy: policy.yaml`, then add `tests`";
        diagnostics.report(Span::default(), "the file is empty", help);
        return None;
    };
    FileEntry::read(&tree, diagnostics)
}

/// A test with its times. They must not go back.
fn resolve(entry: TestEntry, diagnostics: &Diagnostics) -> PolicyTest {
    let start_ms = entry.start.unwrap_or(START_MS);
    let mut reached_ms = start_ms;
    let mut steps = Vec::with_capacity(entry.steps.len());
    let is_aimless = entry.steps.iter().flat_map(|step| &step.value).all(|step| step.expect.is_none());
    // Not beside another error, which may be that of an expectation.
    if is_aimless && diagnostics.is_empty() {
        let help = "add `expect` to a step, as in `expect: allowed`";
        let at = entry.steps.first().map_or(entry.name.at, |step| step.at);
        diagnostics.report(at, "the test expects nothing", help);
    }
    for Spanned { at, value } in entry.steps {
        let Some(step) = value else { continue };
        let at_ms = match step.at.as_ref().and_then(|at| at.value) {
            Some(StepTime::After(duration)) => start_ms.saturating_add(millis(duration)),
            Some(StepTime::At(at_ms)) => at_ms,
            None => reached_ms,
        };
        if at_ms < reached_ms {
            let at = step.at.as_ref().map_or(at, |at| at.at);
            let help = "put the steps in the order of their times";
            diagnostics.report(at, "the step is earlier than the one before", help);
        }
        let (times, every_ms) = (step.times.unwrap_or(1), step.every.map_or(0, millis));
        reached_ms = at_ms.saturating_add(every_ms.saturating_mul(u64::from(times.saturating_sub(1))));
        steps.push(TestStep {
            line: diagnostics.line(at),
            at_ms,
            times,
            every_ms,
            attributes: step.with.unwrap_or_default(),
            cost: step.cost.unwrap_or(1),
            expectation: step.expect,
        });
    }
    let line = diagnostics.line(entry.name.at);
    PolicyTest { name: entry.name.value.unwrap_or_default(), line, start_ms, steps }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
