//! Seeing what a gate decides: counts, latency, top lists, and every denial.

mod denial;
mod denial_interest;
mod keyless;
mod latency;
mod record;
mod requests;
mod rule_series;
mod series;
mod skips;
mod striped;
mod subject_display;
mod thread_stripe;
mod top;

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use slidegate_core::{Decision, Limit, Source};

pub use denial::{Denial, DeniedLimit};
pub use denial_interest::{DenialDetail, DenialInterest};
pub use keyless::KeylessRequests;
pub use latency::Latency;
pub(crate) use record::{BlockedRequest, LimitDecisions, RequestInfo};
pub use requests::RequestCounts;
pub(crate) use requests::RequestOutcome;
pub(crate) use rule_series::RuleSeries;
pub use series::{AD_HOC, MAX_ROUTES, MAX_SERIES, OTHER, Series, SeriesCounts};
pub use skips::Skips;
pub use subject_display::{SubjectDisplay, SubjectNaming, Subjects};
pub use top::{Subject, Top, TopEntry, TopList};

use crate::gate::ActivePolicy;
use latency::LatencyHistogram;
use requests::RequestCounters;
use series::{SeriesCounters, SeriesTable};
use skips::SkipCounters;
use slidegate_policy::Policy;
use slidegate_policy::file::Percent;
use slidegate_store::Space;

/// One of so many decisions is timed, where only a sample is. A prime: however requests take turns, it gets to all kinds.
const SAMPLE: u32 = 17;

thread_local! {
    /// How many decisions of this thread come before the next that is timed.
    static BEFORE_TIMED: Cell<u32> = const { Cell::new(0) };
}

type Hook = Box<dyn Fn(&Denial<'_>) + Send + Sync>;

/// Counters of what a [`Gate`](crate::Gate) decides; see [`Gate::observe`](crate::Gate::observe).
pub struct Telemetry {
    near_miss: AtomicU32,
    display: Arc<SubjectDisplay>,
    timed: TimingMode,
    clock: quanta::Clock,
    requests: RequestCounters,
    series: SeriesTable,
    skips: SkipCounters,
    ad_hoc: Arc<SeriesCounters>,
    ad_hoc_naming: Arc<SubjectNaming>,
    latency: LatencyHistogram,
    denied: Top,
    near: Top,
    hook: OnceLock<Hook>,
    interest: Arc<DenialInterest>,
}

/// What an [`Telemetry`] is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TelemetrySettings {
    /// A charge is a near miss if it leaves at most this part of the quota.
    pub near_miss: Percent,
    /// How subjects appear in top lists and logs.
    pub subjects: Subjects,
}

/// 5 %, and subjects as they are.
impl Default for TelemetrySettings {
    fn default() -> Self {
        Self { near_miss: Percent(500), subjects: Subjects::Plain }
    }
}

/// Which decisions are timed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum TimingMode {
    /// One of 17, for stores that answer quicker than a clock can be read twice.
    #[default]
    Sample,
    /// All of them.
    Each,
}

/// When a decision began.
#[derive(Clone, Copy, Debug)]
pub struct Timer(u64);

impl Telemetry {
    /// Has seen nothing.
    pub fn new(settings: TelemetrySettings) -> Self {
        let (series, display) = (SeriesTable::new(), Arc::new(SubjectDisplay::new(settings.subjects)));
        let top = || Top::default().displayed_by(Arc::clone(&display));
        Self {
            near_miss: AtomicU32::new(settings.near_miss.0),
            timed: TimingMode::default(),
            clock: quanta::Clock::new(),
            requests: RequestCounters::new(),
            ad_hoc: series.ad_hoc(),
            ad_hoc_naming: Arc::new(SubjectNaming::new(AD_HOC, Space::named(AD_HOC), series::ad_hoc_subject)),
            series,
            skips: SkipCounters::default(),
            latency: LatencyHistogram::new(),
            denied: top(),
            near: top(),
            display,
            hook: OnceLock::new(),
            interest: Arc::default(),
        }
    }

    /// Which decisions are timed; a sample, unless it is said otherwise.
    pub fn timed(self, timed: TimingMode) -> Self {
        Self { timed, ..self }
    }

    /// Other settings, from now on.
    pub fn set(&self, settings: TelemetrySettings) {
        self.near_miss.store(settings.near_miss.0, Ordering::Relaxed);
        self.display.set(settings.subjects);
    }

    /// Its settings.
    pub fn settings(&self) -> TelemetrySettings {
        let near_miss = Percent(self.near_miss.load(Ordering::Relaxed));
        TelemetrySettings { near_miss, subjects: self.display.subjects() }
    }

    /// How subjects are shown, in top lists and wherever else they are told.
    pub fn display(&self) -> &Arc<SubjectDisplay> {
        &self.display
    }

    /// Calls this for every denial, by a rule that is enforced or by one that only looks on. Only the first that is given counts.
    /// It must not wait for anything: the request does.
    pub fn on_denial(&self, hook: impl Fn(&Denial<'_>) + Send + Sync + 'static) {
        let _first_counts = self.hook.set(Box::new(hook));
    }

    /// How much of denials whoever wants to know of them hears; each, unless that is changed.
    pub fn interest(&self) -> &Arc<DenialInterest> {
        &self.interest
    }

    /// Whole requests since the start, by what came of them.
    pub fn requests(&self) -> RequestCounts {
        self.requests.sums()
    }

    /// What every limit of every rule has said since the start, route by route: in the order of the policy, then of rules that are
    /// gone, then of limits that came along. At most [`MAX_SERIES`].
    pub fn series(&self) -> Vec<Series> {
        self.series.list()
    }

    /// Requests since the start that lacked an attribute of a key and shared one subject, for every rule where that is possible, in
    /// the order of the policy.
    pub fn without_key(&self) -> Vec<KeylessRequests> {
        self.series.without_key()
    }

    /// Requests that rules skipped since the start because they lacked an attribute of the key, by rule in the order of the policy.
    pub fn skips(&self) -> Vec<Skips> {
        self.skips.list()
    }

    /// How long decisions took since the start.
    pub fn latency(&self) -> Latency {
        self.latency.now()
    }

    /// Subjects by how often rules that are enforced refused them.
    pub fn denied(&self) -> &Top {
        &self.denied
    }

    /// Subjects by how often rules that are enforced had little room left for them.
    pub fn near(&self) -> &Top {
        &self.near
    }

    /// Begins to time a decision, if this one is to be.
    #[inline]
    pub fn start(&self) -> Option<Timer> {
        let is_timed = match self.timed {
            TimingMode::Each => true,
            TimingMode::Sample => {
                let before = BEFORE_TIMED.get();
                BEFORE_TIMED.set(before.checked_sub(1).unwrap_or(SAMPLE - 1));
                before == 0
            }
        };
        is_timed.then(|| Timer(self.clock.raw()))
    }

    /// Notes how long the decision took.
    #[inline]
    pub fn finish(&self, started: Option<Timer>) {
        if let Some(Timer(raw)) = started {
            self.latency.note(self.clock.delta_as_nanos(raw, self.clock.raw()));
        }
    }

    /// Gives the rules of a policy their lines.
    pub(crate) fn attach(&self, policy: Policy) -> ActivePolicy {
        let skips = self.skips.attach(&policy);
        let tallies = self.series.attach(&policy, skips);
        ActivePolicy::new(policy.with_routes(), tallies)
    }

    /// Whether a charge left little room. What a node has left of its share says nothing of the whole quota.
    #[inline]
    fn is_near(&self, limit: &Limit, decision: &Decision, source: Source) -> bool {
        let share = u128::from(self.near_miss.load(Ordering::Relaxed));
        let little = u128::from(decision.remaining) * 10_000 <= u128::from(limit.ceiling()) * share;
        little && source == Source::Store
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("requests", &self.requests()).finish_non_exhaustive()
    }
}
