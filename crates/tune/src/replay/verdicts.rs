//! `--verdicts`: a line per request with what was decided.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::json;
use slidegate::policy::Hit;
use slidegate::{Answer, Outcome, Wait};

/// Form of the lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerdictFormat {
    /// A JSON object per line.
    JsonLines,
    /// Comma-separated values with a header.
    Csv,
}

/// Columns, and members of the objects.
const COLUMNS: &str = "file,line,at_ms,verdict,refused_by,would_refuse,remaining,retry_after_ms";

/// Writer of a line per request, in the order of decisions.
pub(super) struct VerdictWriter {
    out: Box<dyn Write>,
    format: VerdictFormat,
    files: Vec<String>,
    line: String,
}

/// Place of a request in the logs, and the time of its decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct VerdictPlace {
    pub(super) file: usize,
    pub(super) line: u64,
    pub(super) at_ms: u64,
}

/// What was decided of a request.
#[derive(Clone, Default, Debug)]
pub(super) struct VerdictRecord {
    verdict: &'static str,
    refused_by: Vec<String>,
    would_refuse: Vec<String>,
    remaining: Option<u64>,
    retry_after_ms: Option<u64>,
}

impl std::fmt::Debug for VerdictWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerdictWriter").field("format", &self.format).finish_non_exhaustive()
    }
}

impl VerdictRecord {
    /// Record of an answer.
    pub(super) fn of(answer: &Answer, hits: &[Hit<'_>], rule_name: impl Fn(usize) -> String) -> Self {
        let summary = answer.summary();
        let name = |limit: slidegate::LimitAnswer<'_>| {
            (limit.decision.outcome != Outcome::Fits).then(|| limit.name.to_owned())
        };
        let mut would_refuse: Vec<String> = answer.observed().filter_map(name).collect();
        would_refuse
            .extend(hits.iter().filter(|hit| hit.would_block.is_some()).map(|hit| rule_name(hit.rule)));
        let (verdict, refused_by) = match answer.blocked() {
            Some((rule, _)) => ("blocked", vec![rule.to_owned()]),
            None if answer.is_allowed() => ("allowed", Vec::new()),
            None => ("denied", answer.limits().filter_map(name).collect()),
        };
        let retry_after_ms = match summary.wait {
            Wait::After(ms) | Wait::Within(ms) => Some(ms),
            Wait::None | Wait::Never => None,
        };
        Self { verdict, refused_by, would_refuse, remaining: summary.remaining, retry_after_ms }
    }

    /// Record of a request that was not decided.
    pub(super) fn undecided(verdict: &'static str) -> Self {
        Self { verdict, ..Self::default() }
    }
}

impl VerdictWriter {
    /// Writer of these files' requests; writes the header.
    pub(super) fn new(
        mut out: Box<dyn Write>,
        format: VerdictFormat,
        files: Vec<String>,
    ) -> io::Result<Self> {
        if format == VerdictFormat::Csv {
            writeln!(out, "{COLUMNS}")?;
        }
        Ok(Self { out, format, files, line: String::new() })
    }

    /// Writes a line.
    pub(super) fn write(&mut self, place: VerdictPlace, record: &VerdictRecord) -> io::Result<()> {
        let file = self.files.get(place.file).map_or("", String::as_str);
        self.line.clear();
        match self.format {
            VerdictFormat::JsonLines => {
                let line = json!({
                    "file": file,
                    "line": place.line,
                    "at_ms": place.at_ms,
                    "verdict": record.verdict,
                    "refused_by": record.refused_by,
                    "would_refuse": record.would_refuse,
                    "remaining": record.remaining,
                    "retry_after_ms": record.retry_after_ms,
                });
                // Text of a value never fails.
                let _ = write!(self.line, "{line}");
            }
            VerdictFormat::Csv => {
                let number =
                    |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
                let _ = write!(
                    self.line,
                    "{},{},{},{},{},{},{},{}",
                    quoted(file),
                    place.line,
                    place.at_ms,
                    record.verdict,
                    record.refused_by.join(" "),
                    record.would_refuse.join(" "),
                    number(record.remaining),
                    number(record.retry_after_ms)
                );
            }
        }
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }

    /// Writes what is buffered.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Field of CSV, in quotes where it needs them.
fn quoted(text: &str) -> String {
    let is_plain = !text.contains(['"', ',', '\n', '\r']);
    if is_plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
