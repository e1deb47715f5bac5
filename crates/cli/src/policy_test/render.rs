//! Results of tests as text for people, and as JSON for programs.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use slidegate_tune::policy_test::{StepFailure, TestFileResult, TestResult};

use slidegate_tune::printable::printable;

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const PASSED: Style = AnsiColor::Green.on_default().bold();
const FAILED: Style = AnsiColor::Red.on_default().bold();

/// A line for every test, with what differs, and a closing line.
pub(super) fn results(files: &[TestFileResult]) -> String {
    let mut text = String::new();
    for file in files {
        line(&mut text, &format!("{STRONG}{}{STRONG:#} {FAINT}({}){FAINT:#}", file.file, file.policy));
        for test in &file.tests {
            describe(&mut text, file, test);
        }
        if !file.untested_rules.is_empty() {
            let rules = file.untested_rules.join(", ");
            line(&mut text, &format!("  {FAINT}no request matched the rules: {rules}{FAINT:#}"));
        }
    }
    let tests: usize = files.iter().map(|file| file.tests.len()).sum();
    let failed: usize = files.iter().map(TestFileResult::failed).sum();
    let passed = tests - failed;
    line(
        &mut text,
        &match failed {
            0 => format!("{PASSED}{passed} passed{PASSED:#}"),
            _ => format!("{passed} passed, {FAILED}{failed} failed{FAILED:#}"),
        },
    );
    text
}

fn describe(text: &mut String, file: &TestFileResult, test: &TestResult) {
    let name = printable(&test.name);
    if test.passed() {
        return line(text, &format!("  {PASSED}ok{PASSED:#}    {name}"));
    }
    line(text, &format!("  {FAILED}FAIL{FAILED:#}  {name}"));
    for failure in &test.failures {
        line(text, &format!("    {}:{}: {}", file.file, failure.line, printable(&failure.to_string())));
        for mismatch in &failure.mismatches {
            line(text, &format!("      expected  {}", printable(&mismatch.expected)));
            line(text, &format!("      got       {}", printable(&mismatch.actual)));
        }
    }
}

/// Results for programs.
pub(super) fn json(files: &[TestFileResult]) -> Value {
    let tests: usize = files.iter().map(|file| file.tests.len()).sum();
    let failed: usize = files.iter().map(TestFileResult::failed).sum();
    json!({
        "passed": tests - failed,
        "failed": failed,
        "files": files.iter().map(file_json).collect::<Vec<_>>(),
    })
}

fn file_json(file: &TestFileResult) -> Value {
    let test = |test: &TestResult| {
        json!({
            "name": test.name,
            "line": test.line,
            "passed": test.passed(),
            "requests": test.requests,
            "failures": test.failures.iter().map(failure_json).collect::<Vec<_>>(),
        })
    };
    json!({
        "file": file.file,
        "policy": file.policy,
        "tests": file.tests.iter().map(test).collect::<Vec<_>>(),
        "untested_rules": file.untested_rules,
    })
}

fn failure_json(failure: &StepFailure) -> Value {
    let mismatches = failure.mismatches.iter();
    let mismatches = mismatches.map(|one| json!({ "expected": one.expected, "actual": one.actual }));
    json!({
        "line": failure.line,
        "step": failure.step,
        "request": failure.request,
        "after_ms": failure.after_ms,
        "attributes": failure.attributes.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "mismatches": mismatches.collect::<Vec<_>>(),
    })
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}
