//! Report of a replay as text for people.

pub(crate) mod sparkline;
pub(crate) mod table;

use std::fmt::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use slidegate_tune::access_log::TimeZone;
use slidegate_tune::numbers::{TimeText, count, key, percent, range, share, span};
use slidegate_tune::replay::report::{
    AgainstReport, AlgorithmReplay, DeniedSubject, LimitReplay, ReplayMode, RuleReplay, ThresholdReport,
};
use slidegate_tune::replay::{Precision, ReplayReport, UnreadLine};

use crate::access_log_args::log_fields;
use sparkline::{Scale, sparkline};
use table::{Align, TextCell, TextTable};

const STRONG: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Widths of the report, whatever the terminal has.
const WIDTHS: std::ops::RangeInclusive<usize> = 80..=120;
/// Share of lines with status 429 above which retries distort the numbers.
const LIMITED_SHARE: f64 = 0.001;

/// Report in the width of the terminal.
pub(super) fn report(report: &ReplayReport, timezone: &TimeZone, elapsed: Duration) -> String {
    let width = terminal_size::terminal_size().map_or(100, |(terminal_size::Width(width), _)| width.into());
    TextReport {
        width: width.clamp(*WIDTHS.start(), *WIDTHS.end()),
        times: TimeText::new(timezone),
        text: String::new(),
    }
    .report(report, elapsed)
}

/// Value that a condition compared.
pub(super) fn threshold_value(threshold: &ThresholdReport) -> String {
    if threshold.condition.ends_with('%') { percent(threshold.value) } else { count(threshold.value as u64) }
}

struct TextReport {
    width: usize,
    times: TimeText,
    text: String,
}

impl TextReport {
    fn report(mut self, report: &ReplayReport, elapsed: Duration) -> String {
        self.head(report, elapsed);
        self.rules(report);
        self.most_denied(report);
        if let Some(against) = &report.against {
            self.against(report, against);
        }
        self.algorithms(&report.algorithms);
        self.foot(report);
        self.text
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{}", line.trim_end()).expect("writing to a string does not fail");
    }

    fn head(&mut self, report: &ReplayReport, elapsed: Duration) {
        let read = &report.read;
        let names = match &*read.files {
            [one] => one.name.clone(),
            several => format!("{} files", several.len()),
        };
        let span = match (read.first_ms, read.last_ms) {
            (Some(first_ms), Some(last_ms)) => self.times.span(first_ms, last_ms),
            _ => "no requests".to_owned(),
        };
        let (lines, seconds) = (count(read.lines), elapsed.as_secs_f64());
        self.line(&format!("{STRONG}replay{STRONG:#}  {names}   {lines} lines   {span}   {seconds:.1} s"));
        let mut formats: Vec<&str> = read.files.iter().filter_map(|file| file.read_as.as_deref()).collect();
        formats.sort_unstable();
        formats.dedup();
        for format in formats {
            self.line(&format!("  read as {format}"));
        }
        for warning in warnings(report) {
            self.line(&format!("  {WARNING}!{WARNING:#} {warning}"));
        }
    }

    fn rules(&mut self, report: &ReplayReport) {
        let heads = [
            ("rule", Align::Left),
            ("limit", Align::Left),
            ("requests", Align::Right),
            ("denied", Align::Right),
            ("", Align::Right),
            ("subjects touched", Align::Right),
            ("peak/quota", Align::Right),
        ];
        let mut table = TextTable::new(&heads);
        for rule in &report.rules {
            for (index, limit) in rule.limits.iter().enumerate() {
                table.add(limit_cells(rule, limit, index), &limit_sparkline(report, limit));
            }
            if rule.blocked > 0 {
                let cells = vec![
                    TextCell::from(rule_name(rule)),
                    TextCell::from("blocked"),
                    TextCell::from(count(rule.requests)),
                    TextCell::styled(count(rule.blocked), BAD),
                    TextCell::from(share(rule.blocked, rule.requests)),
                    TextCell::from(""),
                    TextCell::from(""),
                ];
                table.add(cells, "");
            }
        }
        self.line("");
        let text = table.render(self.width);
        self.text.push_str(&text);
    }

    fn most_denied(&mut self, report: &ReplayReport) {
        if report.most_denied.is_empty() {
            return;
        }
        let span = match report.axis {
            Some(axis) => {
                let end_ms = axis.start_ms + axis.bucket_ms * axis.buckets as u64;
                format!("timeline {}", self.times.clock_span(axis.start_ms, end_ms))
            }
            None => String::new(),
        };
        let heads = [
            ("most denied", Align::Left),
            ("rule", Align::Left),
            ("denied", Align::Right),
            ("of", Align::Right),
            ("first denial", Align::Left),
        ];
        let mut table = TextTable::new(&heads).with_last(&span);
        for subject in report.most_denied.iter().take(10) {
            table.add(self.subject_cells(subject), &subject_sparkline(report, subject));
        }
        self.line("");
        let text = table.render(self.width);
        self.text.push_str(&text);
    }

    fn subject_cells(&self, subject: &DeniedSubject) -> Vec<TextCell> {
        vec![
            TextCell::from(key(&subject.key)),
            TextCell::from(subject.rule.clone()),
            TextCell::from(count(subject.denied)),
            TextCell::from(count(subject.requests)),
            TextCell::from(self.times.clock(subject.first_denial_ms)),
        ]
    }

    fn against(&mut self, report: &ReplayReport, against: &AgainstReport) {
        let decided = report.requests.decided;
        self.line("");
        self.line(&format!("{STRONG}against {}{STRONG:#}", against.policy));
        let parts = [
            ("newly denied", against.newly_denied, &against.newly_denied_by, &against.newly_denied_subjects),
            (
                "newly allowed",
                against.newly_allowed,
                &against.newly_allowed_by,
                &against.newly_allowed_subjects,
            ),
        ];
        for (name, requests, by, subjects) in parts {
            let of = share(requests, decided);
            self.line(&format!("  {name}  {} of {} requests  {of}", count(requests), count(decided)));
            for rule in by {
                let (requests, subjects) =
                    (counted(rule.requests, "request"), counted(rule.subjects, "subject"));
                self.line(&format!("    {}: {requests} of {subjects}", rule.rule));
            }
            let most = subjects.iter().take(5);
            let most: Vec<String> =
                most.map(|subject| format!("{} ({})", key(&subject.key), count(subject.requests))).collect();
            if !most.is_empty() {
                self.line(&format!("    most: {}", most.join(", ")));
            }
        }
    }

    fn algorithms(&mut self, algorithms: &[AlgorithmReplay]) {
        let Some(first) = algorithms.first() else { return };
        let heads = [("algorithms", Align::Left), ("limit", Align::Left), ("", Align::Left)].into_iter();
        let columns = algorithms.iter().map(|algorithm| (algorithm.algorithm, Align::Right));
        let heads: Vec<(&str, Align)> = heads.chain(columns).collect();
        let mut table = TextTable::new(&heads);
        for (index, limit) in first.limits.iter().enumerate() {
            let of = |value: fn(&slidegate_tune::replay::report::AlgorithmLimit) -> u64| {
                let row =
                    algorithms.iter().map(move |algorithm| algorithm.limits.get(index).map_or(0, value));
                row.collect::<Vec<u64>>()
            };
            let names = [limit.rule.clone(), of_window(&limit.limit), "denied".to_owned()];
            let denied = of(|limit| limit.denied);
            let cells = names.into_iter().map(TextCell::from);
            table.add(
                cells.chain(denied.into_iter().map(|denied| TextCell::from(count(denied)))).collect(),
                "",
            );
            let most = of(|limit| limit.most_admitted).into_iter().map(|most| match most > limit.quota {
                true => TextCell::styled(count(most), BAD),
                false => TextCell::from(count(most)),
            });
            let names = ["".into(), "".into(), "most in a window".to_owned()].map(TextCell::from);
            table.add(names.into_iter().chain(most).collect(), "");
        }
        self.line("");
        let text = table.render(self.width);
        self.text.push_str(&text);
    }

    fn foot(&mut self, report: &ReplayReport) {
        let (read, requests) = (&report.read, &report.requests);
        let mut parts = Vec::new();
        if read.unreadable > 0 {
            let lines = read.files.iter().flat_map(|file| {
                let name = if read.files.len() > 1 { format!("{} ", file.name) } else { String::new() };
                let line =
                    move |line: &UnreadLine| format!("{name}line {} {}", count(line.line), line.reason);
                file.unreadable_lines.iter().map(line)
            });
            let lines: Vec<String> = lines.take(3).collect();
            let of = share(read.unreadable, read.lines);
            parts.push(format!("unread {} ({of}): {}", count(read.unreadable), lines.join("; ")));
        }
        if read.late > 0 {
            parts.push(format!("late {}, at most {}", count(read.late), span(read.latest_ms)));
        }
        if requests.invalid > 0 {
            parts.push(format!("{} with an ambiguous path or an invalid address", count(requests.invalid)));
        }
        if requests.unlimited > 0 {
            let of = share(requests.unlimited, requests.decided);
            parts.push(format!("{} matched no rule ({of})", count(requests.unlimited)));
        }
        if requests.skipped > 0 {
            parts.push(format!("{} with status 429 left out", count(requests.skipped)));
        }
        if !parts.is_empty() {
            self.line(&format!("\n{DIM}{}{DIM:#}", parts.join(" · ")));
        }
    }
}

/// What limits the truth of the numbers.
fn warnings(report: &ReplayReport) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.read.files.iter().any(|file| file.is_server_assumed) {
        warnings.push("nginx is assumed; if Apache wrote it, use --server apache".to_owned());
    }
    match report.precision {
        Precision::Exact => {}
        Precision::WholeSeconds => warnings.push(format!(
            "peaks and touched subjects are ranges: the log has whole seconds{}",
            sharper(report)
        )),
        Precision::WholeSecondEnds => warnings.push(format!(
            "ranges hold for the ends of requests, which are all that the log has{}",
            sharper(report)
        )),
        Precision::Ends => {
            warnings.push("requests are decided at their ends: the log has no durations".to_owned());
        }
    }
    let (limited, lines) = (report.requests.limited_in_log, report.read.lines.max(1));
    if limited as f64 > LIMITED_SHARE * lines as f64 {
        let of = share(limited, lines);
        warnings.push(format!(
            "{} requests ({of}) were limited already (429): their retries inflate the numbers",
            count(limited)
        ));
    }
    warnings.extend(report.notes.iter().cloned());
    warnings
}

/// Number of things: `1 subject`, `2 subjects`.
fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// What to log for sharper numbers.
fn sharper(report: &ReplayReport) -> String {
    match log_fields(&report.read.directives) {
        fields if fields.is_empty() => String::new(),
        fields => format!("; log {fields} to sharpen them (see --formats)"),
    }
}

fn rule_name(rule: &RuleReplay) -> String {
    match rule.mode {
        ReplayMode::Enforce => rule.name.clone(),
        ReplayMode::Observe => format!("{} (observe)", rule.name),
        ReplayMode::Partly => format!("{} (partly)", rule.name),
    }
}

fn limit_cells(rule: &RuleReplay, limit: &LimitReplay, index: usize) -> Vec<TextCell> {
    let name = if index == 0 { rule_name(rule) } else { String::new() };
    let denied = limit.denied + limit.would_deny;
    let denied_cell = match (denied, limit.denied) {
        (0, _) => TextCell::from("0"),
        (denied, 0) => TextCell::styled(count(denied), WARNING),
        (denied, _) => TextCell::styled(count(denied), BAD),
    };
    let text = match limit.applies_to.as_str() {
        "all requests" | "all others" => limit.limit.clone(),
        applies_to => format!("{} ({applies_to})", limit.limit),
    };
    let touched = match limit.touched.high {
        0 => "0".to_owned(),
        _ => format!("{} of {}", range(limit.touched), count(limit.subjects)),
    };
    vec![
        TextCell::from(name),
        TextCell::from(text),
        TextCell::from(count(limit.requests)),
        denied_cell,
        TextCell::from(share(denied, limit.requests)),
        TextCell::from(touched),
        TextCell::from(format!("{}/{}", range(limit.peak), count(limit.quota))),
    ]
}

fn limit_sparkline(report: &ReplayReport, limit: &LimitReplay) -> String {
    let buckets = report.axis.map_or(0, |axis| axis.buckets);
    let most = limit.peak_timeline.0.iter().copied().max().unwrap_or(0);
    sparkline(&limit.peak_timeline.0, buckets, Scale { most: most.max(limit.quota), empty: '▁' })
}

fn subject_sparkline(report: &ReplayReport, subject: &DeniedSubject) -> String {
    let buckets = report.axis.map_or(0, |axis| axis.buckets);
    let most = subject.timeline.0.iter().copied().max().unwrap_or(0);
    sparkline(&subject.timeline.0, buckets, Scale { most, empty: '·' })
}

/// Limit without its algorithm: `5/min` of `5/min counter`.
fn of_window(limit: &str) -> String {
    limit.split_whitespace().next().unwrap_or_default().to_owned()
}
