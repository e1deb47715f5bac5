//! A stream of requests under several algorithms.

use slidegate::{Limit, Limiter, ManualClock};

use super::START_MS;
use super::stream::{RequestStream, StreamError};
use super::window_count::WindowCount;

/// Points of the course of a simulation.
const POINTS: u64 = 300;

/// Result of a stream under one limit.
#[derive(Clone, Debug)]
pub struct AlgorithmResult {
    /// The limit.
    pub limit: Limit,
    /// Requests that were admitted.
    pub admitted: u64,
    /// Requests that were denied.
    pub denied: u64,
    /// Most requests that were admitted in any window.
    pub most_in_window: u64,
    /// Time of the end of that window, from the start.
    pub most_at_ms: u64,
    /// Course of what was admitted in the last window.
    pub course: Vec<WindowPoint>,
}

/// Point of the course of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowPoint {
    /// Time from the start.
    pub at_ms: u64,
    /// Most requests that were admitted in a window that ends between this point and the next.
    pub admitted: u64,
}

/// Runs a stream under each of these limits.
pub fn simulate_algorithms(
    stream: &RequestStream,
    limits: &[Limit],
) -> Result<Vec<AlgorithmResult>, StreamError> {
    limits.iter().map(|limit| run(stream, *limit)).collect()
}

fn run(stream: &RequestStream, limit: Limit) -> Result<AlgorithmResult, StreamError> {
    let clock = ManualClock::new(START_MS);
    let limiter = Limiter::builder([limit]).clock(clock.clone()).build()?;
    let mut window = WindowCount::new(stream.window_ms);
    let mut result = AlgorithmResult {
        limit,
        admitted: 0,
        denied: 0,
        most_in_window: 0,
        most_at_ms: 0,
        course: Vec::new(),
    };
    let mut times_ms = stream.times_ms.iter().copied().peekable();
    for (start_ms, end_ms) in steps(stream.duration_ms) {
        let mut most = window.at(start_ms);
        while let Some(now_ms) = times_ms.next_if(|time_ms| *time_ms < end_ms) {
            clock.set_ms(START_MS + now_ms);
            if limiter.check("subject").is_denied() {
                result.denied += 1;
                continue;
            }
            result.admitted += 1;
            window.add(now_ms);
            let in_window = window.at(now_ms);
            most = most.max(in_window);
            if in_window > result.most_in_window {
                (result.most_in_window, result.most_at_ms) = (in_window, now_ms);
            }
        }
        result.course.push(WindowPoint { at_ms: start_ms, admitted: most });
    }
    Ok(result)
}

/// Steps of a duration, of a whole number of milliseconds each.
fn steps(duration_ms: u64) -> impl Iterator<Item = (u64, u64)> {
    let points = POINTS.min(duration_ms);
    let at_ms = move |point| duration_ms * point / points;
    (0..points).map(move |point| (at_ms(point), at_ms(point + 1)))
}
