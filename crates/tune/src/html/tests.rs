use slidegate::policy::KeyText;

use super::*;
use crate::access_log::AccessLogFormat;
use crate::replay::report::{
    AlgorithmLimit, AlgorithmReplay, CountRange, DeniedSubject, LimitReplay, OverrideCondition, PeakCount,
    ReplayCounts, ReplayMode, RuleReplay, ThresholdReport,
};
use crate::replay::{LogFile, LogSummary, Precision, TimeAxis, Timeline, UnreadLine};

/// Text that must not reach the page as anything but text.
const HOSTILE: &str = "<script>alert('x')</script>\"\u{202e}\u{1b}&";

fn timeline(buckets: u64) -> Timeline {
    Timeline((0..buckets).map(|index| index * index % 97).collect())
}

fn limit(index: u64) -> LimitReplay {
    let peaks = (1..400)
        .map(|peak| PeakCount { peak: peak * (index % 9 + 1), coarse_peak: None, subjects: 40_000 / peak })
        .collect();
    LimitReplay {
        name: format!("rule-{index}-{HOSTILE}"),
        limit: "600/min".to_owned(),
        applies_to: format!("tier is {HOSTILE}"),
        when: Vec::new(),
        algorithm: "log",
        quota: 600,
        window_ms: 60_000,
        requests: 1_000_000,
        denied: 1_234 + index,
        would_deny: 0,
        subjects: 100_000,
        touched: CountRange { low: 9, high: 21 },
        peak: CountRange { low: 700, high: 800 },
        peaks,
        peak_timeline: timeline(128),
    }
}

fn rule(index: u64) -> RuleReplay {
    RuleReplay {
        name: format!("rule-{index}-{HOSTILE}"),
        key: HOSTILE.to_owned(),
        mode: ReplayMode::Partly,
        requests: 1_000_000,
        denied: 1_234,
        would_deny: 7,
        blocked: 3,
        subjects: 100_000,
        touched: CountRange { low: 9, high: 21 },
        limits: vec![limit(index), limit(index + 1)],
        requests_timeline: timeline(128),
        denied_timeline: timeline(128),
    }
}

fn replay(rules: u64) -> ReplayReport {
    let key = vec![KeyText { attribute: HOSTILE.to_owned(), value: Some(HOSTILE.to_owned()) }];
    let subject = DeniedSubject {
        rule: HOSTILE.to_owned(),
        key,
        requests: 10,
        denied: 5,
        first_denial_ms: 1_763_200_000_000,
        timeline: timeline(128),
    };
    let file = LogFile {
        name: HOSTILE.to_owned(),
        read_as: Some(HOSTILE.to_owned()),
        is_server_assumed: true,
        lines: 10,
        unreadable: 1,
        unreadable_lines: vec![UnreadLine { line: 7, reason: HOSTILE.to_owned() }],
    };
    ReplayReport {
        policy: HOSTILE.to_owned(),
        read: LogSummary {
            files: vec![file],
            lines: 10,
            unreadable: 1,
            late: 1,
            directives: AccessLogFormat::NginxCombined.directive().into_iter().collect(),
            ..LogSummary::default()
        },
        precision: Precision::WholeSeconds,
        axis: Some(TimeAxis { start_ms: 1_763_200_000_000, bucket_ms: 1_000, buckets: 128 }),
        requests: ReplayCounts { decided: 1_000, denied: 12, would_deny: 3, ..ReplayCounts::default() },
        requests_timeline: timeline(128),
        denied_timeline: timeline(128),
        rules: (0..rules).map(rule).collect(),
        most_denied: vec![subject; 60],
        against: None,
        algorithms: Vec::new(),
        thresholds: vec![ThresholdReport { condition: HOSTILE.to_owned(), value: 1.0, holds: true }],
        notes: vec![HOSTILE.to_owned()],
    }
}

fn html(replay: &ReplayReport, style: SubjectStyle) -> String {
    let subjects = SubjectMask::new(style, [0; 16]);
    report(replay, &HtmlOptions { command: HOSTILE.to_owned(), timezone: TimeZone::UTC, subjects })
}

/// A policy of 1,000 rules still gives a page that a browser opens at once, and what is left out is said.
#[test]
fn a_page_has_a_bound() {
    let page = html(&replay(3), SubjectStyle::Masked);
    assert_eq!(page.matches("class=\"rule\"").count(), 3);
    assert!(!page.contains("are in the table only"));
    let page = html(&replay(200), SubjectStyle::Masked);
    assert!(page.len() <= MAX_BYTES, "{} bytes", page.len());
    assert!(page.contains("are in the table only") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<section id=\"log\"").count(), 1);
}

#[test]
fn whatever_somebody_chose_is_text() {
    for style in [SubjectStyle::Masked, SubjectStyle::Plain] {
        let page = html(&replay(2), style);
        assert!(
            !page.contains("<script") && !page.contains("alert('") && !page.contains(['\u{202e}', '\u{1b}'])
        );
        assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;\\u{202e}\\u{1b}&amp;"));
    }
}

/// The values of an override are masked as the keys of subjects are.
#[test]
fn overrides_have_no_identity() {
    let mut report = replay(1);
    let values = vec!["sk_acme_123".to_owned()];
    report.rules[0].limits[0].applies_to = "api_key is sk_acme_123".to_owned();
    report.rules[0].limits[0].when =
        vec![OverrideCondition { attribute: "api_key".to_owned(), test: "is", values }];
    let masked = html(&report, SubjectStyle::Masked);
    assert!(!masked.contains("sk_acme_123") && masked.contains("600/min where api_key is #"));
    assert!(html(&report, SubjectStyle::Plain).contains("600/min where api_key is sk_acme_123"));
}

/// What the table of algorithms compares: the limits decide together.
#[test]
fn algorithms_are_those_of_the_whole_policy() {
    let mut report = replay(1);
    let limit = AlgorithmLimit {
        rule: "login".to_owned(),
        limit: "600/min counter".to_owned(),
        quota: 600,
        denied: 7,
        most_admitted: 1_199,
    };
    report.algorithms = vec![AlgorithmReplay { algorithm: "counter", denied: 7, limits: vec![limit] }];
    let page = html(&report, SubjectStyle::Masked);
    assert!(page.contains("login 600/min") && page.contains("7 <small class=\"most bad\">at most 1,199"));
    assert!(page.contains("The whole policy with all limits under one algorithm") && !page.contains("alone"));
}

/// The content security policy allows this style by its hash, and nothing else.
#[test]
fn a_page_loads_nothing() {
    let page = html(&replay(1), SubjectStyle::Masked);
    assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-"));
    for word in ["http://", "https://", "url(", "@import", "style=", " src=", "javascript:"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn an_empty_log_gives_a_page() {
    let mut empty = replay(0);
    (empty.axis, empty.requests) = (None, ReplayCounts::default());
    (empty.most_denied, empty.thresholds) = (Vec::new(), Vec::new());
    let page = html(&empty, SubjectStyle::Masked);
    assert!(page.contains("There is no request to replay"), "{page}");
    assert!(!page.contains("id=\"rules\"") && !page.contains("NaN"));
}
