//! Telemetry of a gate: counts, latency, top lists, and a hook for denials.

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

/// Sampling interval of timed decisions. A prime, so that all kinds of requests are sampled even if
/// they alternate.
const SAMPLE: u32 = 17;

thread_local! {
    /// Decisions of this thread before the next one that is timed.
    static BEFORE_TIMED: Cell<u32> = const { Cell::new(0) };
}

type Hook = Box<dyn Fn(&Denial<'_>) + Send + Sync>;

/// Counters of the decisions of a [`Gate`](crate::Gate); see
/// [`Gate::observe`](crate::Gate::observe).
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

/// Settings of [`Telemetry`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TelemetrySettings {
    /// A charge is a near miss if it leaves at most this part of the quota.
    pub near_miss: Percent,
    /// Display of subjects in top lists and logs.
    pub subjects: Subjects,
}

/// 5 %, and plain subjects.
impl Default for TelemetrySettings {
    fn default() -> Self {
        Self { near_miss: Percent(500), subjects: Subjects::Plain }
    }
}

/// Selection of timed decisions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum TimingMode {
    /// One of 17, for stores that answer faster than a clock can be read twice.
    #[default]
    Sample,
    /// All of them.
    Each,
}

/// Start of a timed decision.
#[derive(Clone, Copy, Debug)]
pub struct Timer(u64);

impl Telemetry {
    /// Telemetry without any counts.
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

    /// Selects the timed decisions; a sample by default.
    pub fn timed(self, timed: TimingMode) -> Self {
        Self { timed, ..self }
    }

    /// Changes the settings.
    pub fn set(&self, settings: TelemetrySettings) {
        self.near_miss.store(settings.near_miss.0, Ordering::Relaxed);
        self.display.set(settings.subjects);
    }

    /// Current settings.
    pub fn settings(&self) -> TelemetrySettings {
        let near_miss = Percent(self.near_miss.load(Ordering::Relaxed));
        TelemetrySettings { near_miss, subjects: self.display.subjects() }
    }

    /// Display of subjects, shared with top lists and logs.
    pub fn display(&self) -> &Arc<SubjectDisplay> {
        &self.display
    }

    /// Sets the hook for denials, by enforced rules and by rules in observe mode. Only the first
    /// call has an effect. The hook must not block: the request waits for it.
    pub fn on_denial(&self, hook: impl Fn(&Denial<'_>) + Send + Sync + 'static) {
        let _is_first = self.hook.set(Box::new(hook));
    }

    /// Interest of the hook in denials; each of them by default.
    pub fn interest(&self) -> &Arc<DenialInterest> {
        &self.interest
    }

    /// Requests by outcome, since the start.
    pub fn requests(&self) -> RequestCounts {
        self.requests.sums()
    }

    /// Series of every limit and route: in the order of the policy, then of removed rules, then of
    /// ad hoc limits. At most [`MAX_SERIES`].
    pub fn series(&self) -> Vec<Series> {
        self.series.list()
    }

    /// Requests without an attribute of a key that shared one subject, for every rule with
    /// `missing: shared`, in the order of the policy.
    pub fn without_key(&self) -> Vec<KeylessRequests> {
        self.series.without_key()
    }

    /// Requests that rules skipped for lack of an attribute of the key, in the order of the policy.
    pub fn skips(&self) -> Vec<Skips> {
        self.skips.list()
    }

    /// Latency of decisions, since the start.
    pub fn latency(&self) -> Latency {
        self.latency.snapshot()
    }

    /// Subjects that enforced rules denied most often.
    pub fn denied(&self) -> &Top {
        &self.denied
    }

    /// Subjects with the most near misses under enforced rules.
    pub fn near(&self) -> &Top {
        &self.near
    }

    /// Starts a timer, if this decision is selected.
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

    /// Records the latency of a timed decision.
    #[inline]
    pub fn finish(&self, started: Option<Timer>) {
        if let Some(Timer(raw)) = started {
            self.latency.record(self.clock.delta_as_nanos(raw, self.clock.raw()));
        }
    }

    /// Assigns series and counters to the rules of a policy.
    pub(crate) fn attach(&self, policy: Policy) -> ActivePolicy {
        let skips = self.skips.attach(&policy);
        let series = self.series.attach(&policy, skips);
        ActivePolicy::new(policy.with_routes(), series)
    }

    /// True for a near miss. The remaining part of a node's share says nothing about the whole
    /// quota.
    #[inline]
    fn is_near(&self, limit: &Limit, decision: &Decision, source: Source) -> bool {
        let share = u128::from(self.near_miss.load(Ordering::Relaxed));
        let is_little = u128::from(decision.remaining) * 10_000 <= u128::from(limit.ceiling()) * share;
        is_little && source == Source::Store
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("requests", &self.requests()).finish_non_exhaustive()
    }
}
