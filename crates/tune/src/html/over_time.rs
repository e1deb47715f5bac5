//! Requests and denials over time.

use super::ReportView;
use super::element::{figure, section};
use crate::chart::{Axis, Bar, Chart, Mark, Tone};
use crate::numbers::{count, span};
use crate::replay::{TimeAxis, Timeline};

const HEIGHT_PX: u32 = 170;

pub(super) fn render(view: &ReportView<'_>) -> String {
    let report = view.report;
    let Some(axis) = report.axis else { return String::new() };
    let per = format!("per {}", bucket(axis));
    let requests = TimeSeries { name: "requests", tone: Tone::Allowed, timeline: &report.requests_timeline };
    let denied = TimeSeries { name: "refused", tone: Tone::Denied, timeline: &report.denied_timeline };
    let mut content = figure(&format!("Requests {per}"), "", &chart(view, axis, &requests).svg());
    if report.denied_timeline.0.iter().any(|count| *count > 0) {
        content.push_str(&figure(&format!("Refused requests {per}"), "", &chart(view, axis, &denied).svg()));
    }
    section("over-time", "Over time", &format!("<div class=\"grid\">\n{content}</div>\n"))
}

/// Length of a bucket: `32 s`.
fn bucket(axis: TimeAxis) -> String {
    match axis.bucket_ms {
        1_000 => "second".to_owned(),
        ms if ms < 120_000 => format!("{} s", ms / 1_000),
        ms if ms < 7_200_000 => format!("{:.0} min", ms as f64 / 60_000.0),
        ms => format!("{:.0} h", ms as f64 / 3_600_000.0),
    }
}

struct TimeSeries<'a> {
    name: &'static str,
    tone: Tone,
    timeline: &'a Timeline,
}

fn chart(view: &ReportView<'_>, axis: TimeAxis, series: &TimeSeries<'_>) -> Chart {
    let values = &series.timeline.0;
    let most = values.iter().copied().max().unwrap_or(0);
    let end_ms = axis.start_ms + axis.bucket_ms * axis.buckets as u64;
    let bars = values.iter().enumerate().filter(|(_, value)| **value > 0).map(|(index, value)| {
        let from_ms = axis.start_ms + axis.bucket_ms * index as u64;
        let label = format!("{}: {} {}", view.times.clock(from_ms), count(*value), series.name);
        Bar {
            from: from_ms as f64,
            to: (from_ms + axis.bucket_ms) as f64,
            value: *value as f64,
            tone: series.tone,
            label,
        }
    });
    let all: u64 = values.iter().sum();
    let summary = format!(
        "{} {} in {}, at most {} in {}.",
        count(all),
        series.name,
        span(end_ms - axis.start_ms),
        count(most),
        bucket(axis)
    );
    Chart {
        title: format!("{} over time", series.name),
        summary,
        x: Axis::time_in(&view.options.timezone, axis.start_ms, end_ms),
        y: Axis::counts(most),
        marks: vec![Mark::Bars(bars.collect())],
        height_px: HEIGHT_PX,
    }
}
