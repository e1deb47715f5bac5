//! Suggestion of limits from the requests of a log: for every route the lowest quotas that touch few
//! subjects.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `segment`, `route_tree`, `template` | the templates of routes, learned from paths |
//! | `request_buffer` | the first requests, which teach before they are counted |
//! | `routes` | the rules of a suggestion, and which of them a request has |
//! | `subjects` | the peaks of all subjects, sampled when memory is full |
//! | `quota` | quotas from peaks |
//! | `suggestion` | the result |

mod quota;
mod request_buffer;
mod route_tree;
mod routes;
mod segment;
mod subjects;
mod suggestion;
mod template;

use std::collections::BTreeSet;
use std::time::Duration;

use slidegate::policy::PolicyErrors;
use slidegate::{Limit, LimitError, Request};

use crate::peak::{PeakCounter, PeakWindow, StartPrecision};
use request_buffer::{BufferedRequest, RequestBuffer, RequestRole};
use route_tree::RouteTree;
use routes::{RouteKey, Routes};
use subjects::SubjectPeaks;

pub use quota::Margin;
pub use routes::{RoutePath, SuggestedRoute};
pub use subjects::SubjectSample;
pub use suggestion::{CapacitySuggestion, LimitSuggestion, RouteSuggestion, Suggestion, TouchedInterval};

/// Number of requests that teach routes.
const TEACHING_REQUESTS: usize = 1_000_000;
/// Part of the memory that they may take.
const TEACHING_PART: usize = 4;
/// Number of examples of each route.
const EXAMPLES: usize = 3;
/// Length of an example: a line may have a million bytes.
const EXAMPLE_CHARS: usize = 200;
/// Statuses from this one on are errors.
const FIRST_ERROR: u16 = 400;
/// Status of requests that a limit refused.
const TOO_MANY_REQUESTS: u16 = 429;

/// Settings of a suggestion.
#[derive(Clone, Debug)]
pub struct SuggestSettings {
    /// Attributes that identify a client, in the form of the policy file: `org`, `api_key|ip`.
    pub key: Vec<String>,
    /// Windows, each at least once.
    pub windows: Vec<Duration>,
    /// Precision of the starts of requests.
    pub precision: StartPrecision,
    /// Subjects of a route that its limits may touch, of a million.
    pub touched_ppm: u32,
    /// Change of the quotas.
    pub margin: Margin,
    /// Number of routes that get a rule of their own.
    pub max_routes: usize,
    /// Memory for requests and subjects, in bytes.
    pub max_bytes: usize,
    /// What the service behind can take in all.
    pub capacity: Option<Limit>,
}

/// Error of [`Suggester::new`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuggestError {
    /// No limit can have this window.
    #[error("invalid window: {0}")]
    Window(#[from] LimitError),
    /// No rule can have this key.
    #[error(transparent)]
    Key(#[from] PolicyErrors),
}

/// Suggester: takes the requests of a log in the order of their starts, and makes a suggestion.
#[derive(Debug)]
pub struct Suggester {
    settings: SuggestSettings,
    subjects: SubjectPeaks,
    /// Total of all requests, if a capacity is to be compared.
    total: Option<(PeakWindow, PeakCounter)>,
    phase: SuggestPhase,
    counts: SuggestCounts,
}

/// Numbers of requests.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SuggestCounts {
    /// All requests.
    pub requests: u64,
    /// Requests that a limit had refused (429). They are left out.
    pub limited: u64,
    /// Requests that the policy would refuse as invalid: their address is none, or their path is
    /// ambiguous. They are left out.
    pub invalid: u64,
    /// Requests whose path was not learned, because too many different ones came before.
    pub unlearned: u64,
}

#[derive(Debug)]
enum SuggestPhase {
    /// Routes are not known yet.
    Learning(RequestBuffer),
    Counting(RouteCounter),
}

/// Routes with what was counted of each.
#[derive(Debug)]
struct RouteCounter {
    routes: Routes,
    counts: Vec<RouteCounts>,
}

/// Counts of a route.
#[derive(Clone, Default, Debug)]
struct RouteCounts {
    requests: u64,
    lacking_key: u64,
    examples: Vec<String>,
}

impl Suggester {
    /// Suggester without requests.
    pub fn new(settings: SuggestSettings) -> Result<Self, SuggestError> {
        // An invalid key is an error before the log is read.
        Routes::new(&[], &settings.key)?;
        let window = |window: Duration| PeakWindow::new(window, settings.precision);
        let windows: BTreeSet<Duration> = settings.windows.iter().copied().collect();
        let windows = windows.into_iter().map(window).collect::<Result<Vec<_>, _>>()?;
        let of_capacity = |capacity: Limit| window(Duration::from_millis(capacity.window_ms()));
        let total = settings.capacity.map(of_capacity).transpose()?;
        let total = total.map(|window| (window, PeakCounter::new(&window)));
        let teaching_bytes = settings.max_bytes / TEACHING_PART;
        let subjects = SubjectPeaks::new(windows, settings.max_bytes - teaching_bytes);
        let attributes = attributes(&settings.key).map(str::to_owned).collect();
        let phase = SuggestPhase::Learning(RequestBuffer::new(attributes, TEACHING_REQUESTS, teaching_bytes));
        Ok(Self { settings, subjects, total, phase, counts: SuggestCounts::default() })
    }

    /// Takes a request, which starts no earlier than the one before. An unknown status counts as a
    /// success.
    pub fn push(
        &mut self,
        start_ms: u64,
        status: Option<u16>,
        request: Request<'_>,
    ) -> Result<(), SuggestError> {
        self.counts.requests += 1;
        if status == Some(TOO_MANY_REQUESTS) {
            self.counts.limited += 1;
            return Ok(());
        }
        if let SuggestPhase::Learning(buffer) = &self.phase
            && buffer.is_full()
        {
            self.learn()?;
        }
        let is_error = status.is_some_and(|status| status >= FIRST_ERROR);
        let role = if is_error { RequestRole::Counts } else { RequestRole::Teaches };
        let request = BufferedRequest { start_ms, role, request };
        match &mut self.phase {
            SuggestPhase::Learning(buffer) => buffer.push(&request),
            SuggestPhase::Counting(_) => self.count(&request),
        }
        Ok(())
    }

    /// Suggestion from all requests.
    pub fn finish(mut self) -> Result<Suggestion, SuggestError> {
        self.learn()?;
        Ok(suggestion::of(self)?)
    }

    /// Learns the routes from the buffer, and counts what is in it.
    fn learn(&mut self) -> Result<(), SuggestError> {
        let SuggestPhase::Learning(buffer) = &mut self.phase else { return Ok(()) };
        let buffer = std::mem::replace(buffer, RequestBuffer::new(Vec::new(), 0, 0));
        let mut tree = RouteTree::new();
        let teaching = buffer.iter().filter(|request| request.role == RequestRole::Teaches);
        for request in teaching {
            tree.learn(request.request.get("path").unwrap_or_default());
        }
        self.counts.unlearned = tree.unlearned();
        let routes = Routes::new(&tree.templates(self.settings.max_routes), &self.settings.key)?;
        let counts = vec![RouteCounts::default(); routes.len()];
        self.phase = SuggestPhase::Counting(RouteCounter { routes, counts });
        buffer.iter().for_each(|request| self.count(&request));
        Ok(())
    }

    fn count(&mut self, request: &BufferedRequest<'_>) {
        let Self { subjects, total, phase, counts, .. } = self;
        let SuggestPhase::Counting(RouteCounter { routes, counts: of_routes }) = phase else { return };
        let BufferedRequest { start_ms, role, request } = request;
        if let Some((window, counter)) = total {
            counter.count(window, *start_ms);
        }
        let counted = routes.visit(request, |route, key| {
            let of_route = &mut of_routes[route];
            of_route.requests += 1;
            match key {
                RouteKey::Of(key) => subjects.count(route as u32, key, *start_ms),
                RouteKey::Lacking => of_route.lacking_key += 1,
            }
            if *role == RequestRole::Teaches && of_route.examples.len() < EXAMPLES {
                of_route.add_example(request);
            }
        });
        counts.invalid += u64::from(counted.is_err());
    }
}

impl RouteCounts {
    fn add_example(&mut self, request: &Request<'_>) {
        let path = request.get("path").unwrap_or_default();
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path: String = path.chars().take(EXAMPLE_CHARS).collect();
        if !path.is_empty() && self.examples.iter().all(|example| *example != path) {
            self.examples.push(path);
        }
    }
}

/// Attributes that a key in the form of the policy file needs, and the path.
pub fn attributes(key: &[String]) -> impl Iterator<Item = &str> {
    std::iter::once("path").chain(key.iter().flat_map(|part| part.split('|')).map(str::trim))
}
