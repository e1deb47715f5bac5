//! Results of simulations as text and as JSON.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use slidegate_tune::simulate::{AlgorithmResult, HerdResult, HerdSettings, RequestStream, Scenario};

use super::SimulationResult;
use crate::replay::render::sparkline::{Scale, sparkline};
use crate::replay::render::table::{Align, TextCell, TextTable};

/// Width of the output: nothing in it is longer.
const WIDTH: usize = 100;
const STRONG: Style = Style::new().bold();
const OVER: Style = AnsiColor::Red.on_default().bold();

/// Result as text.
pub(super) fn text(result: &SimulationResult) -> String {
    match result {
        SimulationResult::Stream { scenario, stream, results } => of_stream(*scenario, stream, results),
        SimulationResult::Herd { settings, results } => of_herd(settings, results),
    }
}

fn of_stream(scenario: Scenario, stream: &RequestStream, results: &[AlgorithmResult]) -> String {
    let heads = [
        ("limit", Align::Left),
        ("admitted", Align::Right),
        ("denied", Align::Right),
        ("most in a window", Align::Right),
        ("worst case", Align::Right),
    ];
    let mut table = TextTable::new(&heads).with_last("admitted in the last window");
    let most = results.iter().map(|result| result.most_in_window).max().unwrap_or(0);
    for result in results {
        let course: Vec<u64> = result.course.iter().map(|point| point.admitted).collect();
        let is_over = result.most_in_window > result.limit.quota();
        let cells = vec![
            TextCell::from(result.limit.to_string()),
            TextCell::from(result.admitted.to_string()),
            TextCell::from(result.denied.to_string()),
            TextCell::styled(result.most_in_window.to_string(), if is_over { OVER } else { Style::new() }),
            TextCell::from(result.limit.worst_case().to_string()),
        ];
        table.add(cells, &sparkline(&course, course.len(), Scale { most, empty: '▁' }));
    }
    let (requests, duration) = (stream.requests(), seconds(stream.duration_ms()));
    format!("{STRONG}{scenario}{STRONG:#}  {requests} requests in {duration}\n\n{}", table.render(WIDTH))
}

fn of_herd(settings: &HerdSettings, results: &[HerdResult]) -> String {
    let heads = [
        ("clients wait", Align::Left),
        ("attempts", Align::Right),
        ("early", Align::Right),
        ("most in 100 ms", Align::Right),
        ("last admitted", Align::Right),
        ("clients left", Align::Right),
    ];
    let mut table = TextTable::new(&heads).with_last("attempts");
    for result in results {
        let course = &result.course.attempts;
        let most = course.iter().copied().max().unwrap_or(0);
        let cells = vec![
            TextCell::from(result.rule.name()),
            TextCell::from(result.attempts.to_string()),
            TextCell::from(result.early.to_string()),
            TextCell::from(result.most_at_once.to_string()),
            TextCell::from(seconds(result.last_ms)),
            TextCell::from((settings.clients - result.admitted).to_string()),
        ];
        table.add(cells, &sparkline(course, course.len(), Scale { most, empty: '▁' }));
    }
    let HerdSettings { limit, clients, .. } = settings;
    let ideal = seconds(settings.ideal_ms());
    let head = format!("{STRONG}herd{STRONG:#}  {clients} clients at once, {limit}: at best {ideal} for all");
    format!("{head}\n\n{}", table.render(WIDTH))
}

fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1_000.0)
}

/// Result for programs.
pub(super) fn json(result: &SimulationResult) -> Value {
    match result {
        SimulationResult::Stream { scenario, stream, results } => json!({
            "scenario": scenario.to_string().replace(' ', "-"),
            "requests": stream.requests(),
            "duration_ms": stream.duration_ms(),
            "algorithms": results.iter().map(algorithm).collect::<Vec<_>>(),
        }),
        SimulationResult::Herd { settings, results } => json!({
            "scenario": "herd",
            "clients": settings.clients,
            "limit": settings.limit.to_string(),
            "ideal_ms": settings.ideal_ms(),
            "rules": results.iter().map(rule).collect::<Vec<_>>(),
        }),
    }
}

fn algorithm(result: &AlgorithmResult) -> Value {
    let course: Vec<[u64; 2]> = result.course.iter().map(|point| [point.at_ms, point.admitted]).collect();
    json!({
        "algorithm": result.limit.kind().name(),
        "limit": result.limit.to_string(),
        "admitted": result.admitted,
        "denied": result.denied,
        "most_in_window": result.most_in_window,
        "most_at_ms": result.most_at_ms,
        "worst_case": result.limit.worst_case(),
        "course": course,
    })
}

fn rule(result: &HerdResult) -> Value {
    json!({
        "rule": result.rule.name(),
        "attempts": result.attempts,
        "admitted": result.admitted,
        "early": result.early,
        "most_in_100_ms": result.most_at_once,
        "last_ms": result.last_ms,
        "step_ms": result.course.step_ms,
        "course": result.course.attempts,
    })
}
