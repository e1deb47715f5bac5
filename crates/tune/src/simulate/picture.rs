//! Simulations as pictures: a chart for every result, all on the same axes.

use super::algorithms::AlgorithmResult;
use super::herd::{HerdResult, HerdSettings};
use super::stream::{RequestStream, Scenario};
use crate::chart::{Axis, Chart, Mark, Picture, Point, Tone};
use crate::numbers::{count, span};

const HEIGHT_PX: u32 = 120;

/// Picture of a stream under several algorithms: what each admitted in the last window.
pub fn stream_picture(scenario: Scenario, stream: &RequestStream, results: &[AlgorithmResult]) -> Picture {
    let most = results.iter().map(|result| result.most_in_window).max().unwrap_or(0).max(stream.quota);
    let sentence = |result: &AlgorithmResult| {
        format!("{} admits at most {} in a window.", result.limit, count(result.most_in_window))
    };
    // Without its algorithm.
    let limit = results.first().map(|result| result.limit.to_string()).unwrap_or_default();
    let sentences: Vec<String> = results.iter().map(sentence).collect();
    Picture {
        title: format!(
            "{}: {} requests, a limit of {}",
            capitalized(&scenario.to_string()),
            count(stream.requests() as u64),
            limit.split(' ').next().unwrap_or_default()
        ),
        summary: sentences.join(" "),
        charts: results.iter().map(|result| stream_chart(stream, result, most)).collect(),
    }
}

fn stream_chart(stream: &RequestStream, result: &AlgorithmResult, most: u64) -> Chart {
    let AlgorithmResult { limit, admitted, denied, most_in_window, most_at_ms, course } = result;
    let (tone, name) = match *most_in_window > stream.quota {
        true => (Tone::Denied, "admitted in the last window: above the quota"),
        false => (Tone::Allowed, "admitted in the last window: at most the quota"),
    };
    let points = course.iter().map(|point| Point { x: point.at_ms as f64, y: point.admitted as f64 });
    let summary = format!("{} admitted, {} denied", count(*admitted), count(*denied));
    Chart {
        title: format!("{limit}: {summary}"),
        summary,
        x: Axis::elapsed(stream.duration_ms),
        y: Axis::counts(most),
        marks: vec![
            Mark::area(name, tone, points),
            Mark::Level { at: stream.quota as f64, label: format!("quota {}", count(stream.quota)) },
            Mark::Dot {
                at: Point { x: *most_at_ms as f64, y: *most_in_window as f64 },
                tone,
                label: format!("{} in a window", count(*most_in_window)),
            },
        ],
        height_px: HEIGHT_PX,
    }
}

/// Picture of herds that come again by different rules: their attempts over time.
pub fn herd_picture(settings: &HerdSettings, results: &[HerdResult]) -> Picture {
    let step_ms = results.iter().map(|result| result.course.step_ms).max().unwrap_or(1);
    let courses: Vec<Vec<u64>> = results.iter().map(|result| result.course.in_steps_of(step_ms)).collect();
    let most = courses.iter().flatten().copied().max().unwrap_or(0);
    let steps = courses.iter().map(Vec::len).max().unwrap_or(0) as u64;
    let name = format!("attempts in {}", span(step_ms));
    let charts: Vec<Chart> = results
        .iter()
        .zip(&courses)
        .map(|(result, course)| {
            let points =
                course.iter().zip(0_u64..).map(|(attempts, step)| (step * step_ms, *attempts as f64));
            Chart {
                title: herd_title(result),
                summary: herd_title(result),
                x: Axis::elapsed(steps * step_ms),
                y: Axis::counts(most),
                marks: vec![
                    Mark::area(&name, Tone::Allowed, points.map(|(at_ms, y)| Point { x: at_ms as f64, y })),
                    Mark::Threshold {
                        at: settings.ideal_ms() as f64,
                        label: format!("at best {}", span(settings.ideal_ms())),
                    },
                ],
                height_px: HEIGHT_PX,
            }
        })
        .collect();
    let summaries: Vec<String> = charts.iter().map(|chart| format!("{}.", chart.summary)).collect();
    Picture {
        title: format!("Herd: {} clients at once, {}", count(settings.clients), settings.limit),
        summary: summaries.join(" "),
        charts,
    }
}

fn herd_title(result: &HerdResult) -> String {
    let early = if result.early > 0 { format!(", {} too early", count(result.early)) } else { String::new() };
    format!(
        "{}: {} attempts{early}, the last client admitted after {}",
        result.rule.name(),
        count(result.attempts),
        span(result.last_ms)
    )
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}
