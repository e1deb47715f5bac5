//! Results as JUnit XML, which build servers read.

use std::fmt::Write;

use super::run::{StepFailure, TestFileResult, TestResult};

/// JUnit XML: a suite for every file, a case for every test.
pub fn junit(files: &[TestFileResult]) -> String {
    let (tests, failures) =
        (files.iter().map(|file| file.tests.len()).sum(), files.iter().map(TestFileResult::failed).sum());
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    open(&mut xml, "testsuites", "slidegate test", SuiteCounts { tests, failures });
    for file in files {
        open(
            &mut xml,
            "testsuite",
            &file.file,
            SuiteCounts { tests: file.tests.len(), failures: file.failed() },
        );
        for test in &file.tests {
            case(&mut xml, &file.file, test);
        }
        xml.push_str("</testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// Number of tests, and of those that failed.
#[derive(Clone, Copy)]
struct SuiteCounts {
    tests: usize,
    failures: usize,
}

fn open(xml: &mut String, element: &str, name: &str, SuiteCounts { tests, failures }: SuiteCounts) {
    let name = escaped(name);
    writeln!(xml, "<{element} name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">")
        .expect("writing to a string does not fail");
}

fn case(xml: &mut String, file: &str, test: &TestResult) {
    let (name, file, line) = (escaped(&test.name), escaped(file), test.line);
    let mut write = |text: &str| xml.push_str(text);
    write(&format!("<testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{line}\""));
    let Some(first) = test.failures.first() else { return write("/>\n") };
    let message =
        first.mismatches.first().map(|one| format!("expected {}, got {}", one.expected, one.actual));
    let message = escaped(&message.unwrap_or_default());
    write(&format!(">\n<failure type=\"expectation\" message=\"{message}\">"));
    for failure in &test.failures {
        write(&escaped(&description(failure)));
    }
    write("</failure>\n</testcase>\n");
}

fn description(failure: &StepFailure) -> String {
    let mut text = format!("line {}, {failure}\n", failure.line);
    for mismatch in &failure.mismatches {
        text.push_str(&format!("  expected {}\n  got      {}\n", mismatch.expected, mismatch.actual));
    }
    text
}

/// Text for an attribute or an element. Characters that XML does not have are replaced.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\n' => "&#10;".to_owned(),
        '\t' => "&#9;".to_owned(),
        _ if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
            char::REPLACEMENT_CHARACTER.to_string()
        }
        _ => c.to_string(),
    };
    text.chars().map(escape).collect()
}
