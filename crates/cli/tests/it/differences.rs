//! The traces of docs/differences.md, replayed.

use slidegate::{Limit, Limiter, ManualClock, Verdict};

/// A time at which windows of any length in the page begin: midnight.
const MIDNIGHT_MS: u64 = 20_196 * 86_400_000;

const PAGE: &str = include_str!("../../../../docs/differences.md");

#[test]
fn every_trace_of_the_page_holds() {
    let traces: Vec<&str> = PAGE.split("```text\n").skip(1).map(|rest| before(rest, "```")).collect();
    assert!(traces.len() >= 13, "{} traces", traces.len());
    let steps: usize = traces.iter().map(|trace| replay(trace)).sum();
    assert!(steps >= 45, "{steps} steps");
}

/// Every row of the table leads to a section that is there.
#[test]
fn every_link_of_the_table_has_its_section() {
    let anchors: Vec<String> = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|title| title.to_lowercase().replace(' ', "-"))
        .collect();
    let links: Vec<&str> = PAGE.split("](#").skip(1).map(|rest| before(rest, ")")).collect();
    assert_eq!(links, anchors);
}

/// Runs one trace and returns how many steps it had.
fn replay(trace: &str) -> usize {
    let mut lines = trace.lines();
    let clock = ManualClock::new(MIDNIGHT_MS);
    let limits = limits(lines.next().expect("a trace begins with its limits"));
    let limiter = Limiter::builder(limits).clock(clock.clone()).build().expect("limits of the page");
    let mut steps = 0;
    for line in lines {
        let (at, rest) = line.split_once("  ask ").unwrap_or_else(|| panic!("no step: {line}"));
        let (ask, expected) = rest.split_once("  ").unwrap_or_else(|| panic!("no answer: {line}"));
        let answer = match ask.split_once(" every ms to ") {
            None => {
                clock.set_ms(MIDNIGHT_MS + ms(at));
                render(&limiter.check_n("key", ask.trim().parse().expect("a cost")), expected)
            }
            Some((cost, until)) => {
                let allowed = (ms(at)..=ms(until)).filter(|at| {
                    clock.set_ms(MIDNIGHT_MS + at);
                    limiter.check_n("key", cost.parse().expect("a cost")).is_allowed()
                });
                format!("{} allowed", allowed.count())
            }
        };
        assert_eq!(answer, expected.trim(), "in:\n{trace}{line}");
        steps += 1;
    }
    steps
}

/// `5/min, counter` or `2/s and 4/min`.
fn limits(line: &str) -> Vec<Limit> {
    let (windows, kind) = line.split_once(", ").unwrap_or((line, "log"));
    let limits = windows.split(" and ").map(|text| text.parse::<Limit>().expect("a limit"));
    limits
        .map(|limit| match kind {
            "log" => limit,
            "counter" => limit.counter().expect("a counter"),
            "fixed" => limit.fixed().expect("a fixed window"),
            other => panic!("no such kind: {other}"),
        })
        .collect()
}

/// Verdict in the words of the page; what remains only where the page has it.
fn render(verdict: &Verdict, expected: &str) -> String {
    match verdict.retry_after_ms() {
        _ if verdict.is_never() => "never fits".to_owned(),
        Some(ms) => format!("denied, retry after {ms} ms"),
        None if expected.contains("left") => {
            format!("allowed, {} left", verdict.remaining().expect("limits apply"))
        }
        None => "allowed".to_owned(),
    }
}

/// `mm:ss.mmm` in milliseconds.
fn ms(time: &str) -> u64 {
    let (minutes, rest) = time.trim().split_once(':').unwrap_or_else(|| panic!("no time: {time}"));
    let (seconds, millis) = rest.split_once('.').unwrap_or_else(|| panic!("no time: {time}"));
    let [minutes, seconds, millis] = [minutes, seconds, millis].map(|n| n.parse::<u64>().expect("a number"));
    (minutes * 60 + seconds) * 1_000 + millis
}

fn before<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or(text, |(first, _)| first)
}
