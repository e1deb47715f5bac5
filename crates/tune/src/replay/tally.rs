//! Tally of a replay: counts by rule, limit and subject.

use std::collections::BTreeMap;

use slidegate::policy::file::{OverrideEntry, RuleEntry};
use slidegate::policy::{Hit, HitMode, Policy, RuleReport};
use slidegate::{Answer, Decision, Limit, LimitError, Outcome};

use super::demand::{DemandWindows, Stamps};
use super::denied_subjects::{DeniedSubjects, SubjectId};
use super::policy::is_never_binding;
use super::report::{
    CountRange, DeniedSubject, LimitReplay, OverrideCondition, PeakCount, ReplayCounts, ReplayMode,
    RuleReplay,
};
use super::subjects::{DemandRange, SubjectDemand, SubjectTable};
use super::timeline::{Aggregation, Bucket, GrowingAxis, GrowingTimeline};
use crate::peak::FINE_QUOTA;

/// Subjects in the list of the most denied.
const MOST_DENIED: usize = 20;
/// Least number of requests between two sweeps of idle subjects.
const SWEEP_EVERY: u64 = 1 << 18;

/// Counts of a policy's decisions.
#[derive(Debug)]
pub(super) struct Tally {
    stamps: Stamps,
    pub(super) counts: ReplayCounts,
    requests_timeline: GrowingTimeline,
    denied_timeline: GrowingTimeline,
    rules: Vec<RuleTally>,
    denied: DeniedSubjects,
    /// Most subjects of a rule.
    max_subjects: usize,
    /// Number of requests at the next sweep.
    next_sweep: u64,
}

#[derive(Debug)]
struct RuleTally {
    report: RuleReport,
    /// Conditions of each override.
    overrides: Vec<Vec<OverrideCondition>>,
    mode: ReplayMode,
    requests: u64,
    denied: u64,
    would_deny: u64,
    blocked: u64,
    requests_timeline: GrowingTimeline,
    denied_timeline: GrowingTimeline,
    /// Index of the first limit of each limit set.
    first_limits: Vec<usize>,
    limits: Vec<LimitTally>,
    subjects: SubjectTable,
}

#[derive(Debug)]
struct LimitTally {
    limit: Limit,
    windows: DemandWindows,
    requests: u64,
    denied: u64,
    would_deny: u64,
    peak_timeline: GrowingTimeline,
}

/// Time of a decision, with its place in all timelines.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecisionTime {
    pub(super) at_ms: u64,
    /// Time in which demand is counted: the second, on logs with whole seconds.
    pub(super) demand_ms: u64,
    pub(super) bucket: Bucket,
}

/// Outcome of a request in a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReplayOutcome {
    Allowed,
    Denied,
    Blocked,
}

impl ReplayOutcome {
    pub(super) fn of(answer: &Answer) -> Self {
        match (answer.is_blocked(), answer.is_allowed()) {
            (true, _) => Self::Blocked,
            (false, false) => Self::Denied,
            (false, true) => Self::Allowed,
        }
    }
}

impl Tally {
    pub(super) fn new(
        policy: &Policy,
        entries: &[RuleEntry],
        stamps: Stamps,
        max_subjects: usize,
    ) -> Result<Self, LimitError> {
        let rules = policy.explain().into_iter().zip(policy.rules()).zip(entries);
        let rules = rules.map(|((report, rule), entry)| {
            let (mut first_limits, mut limits) = (Vec::new(), Vec::new());
            for limit_set in rule.limit_sets() {
                first_limits.push(limits.len());
                for limit in limit_set.limits() {
                    limits.push(LimitTally::new(*limit, stamps)?);
                }
            }
            let when = |other: &OverrideEntry| other.when.0.iter().map(OverrideCondition::from).collect();
            Ok(RuleTally {
                report,
                overrides: entry.overrides.iter().map(when).collect(),
                mode: ReplayMode::from(&entry.mode),
                requests: 0,
                denied: 0,
                would_deny: 0,
                blocked: 0,
                requests_timeline: GrowingTimeline::new(Aggregation::Sum),
                denied_timeline: GrowingTimeline::new(Aggregation::Sum),
                first_limits,
                limits,
                subjects: SubjectTable::new(),
            })
        });
        let max_subjects = max_subjects / entries.len().max(1);
        Ok(Self {
            stamps,
            counts: ReplayCounts::default(),
            requests_timeline: GrowingTimeline::new(Aggregation::Sum),
            denied_timeline: GrowingTimeline::new(Aggregation::Sum),
            rules: rules.collect::<Result<_, LimitError>>()?,
            denied: DeniedSubjects::default(),
            max_subjects,
            next_sweep: SWEEP_EVERY,
        })
    }

    /// Counts a decision.
    pub(super) fn add(&mut self, moment: DecisionTime, answer: &Answer, hits: &[Hit<'_>]) {
        self.counts.decided += 1;
        self.requests_timeline.add(moment.bucket, 1);
        let outcome = ReplayOutcome::of(answer);
        match outcome {
            ReplayOutcome::Allowed => self.counts.unlimited += u64::from(hits.is_empty()),
            ReplayOutcome::Denied => self.counts.denied += 1,
            ReplayOutcome::Blocked => self.counts.blocked += 1,
        }
        if outcome != ReplayOutcome::Allowed {
            self.denied_timeline.add(moment.bucket, 1);
        }
        if let Some((rule, _)) = answer.blocked() {
            let blocking = self.rules.iter_mut().find(|tally| tally.report.name == rule);
            if let Some(rule) = blocking {
                rule.block(moment.bucket);
            }
            return;
        }
        let mut enforced = &*answer.verdict().decisions;
        let mut observed = None;
        let mut would_deny = false;
        for hit in hits {
            let rule = &mut self.rules[hit.rule];
            let own;
            let decisions = match hit.mode {
                _ if hit.would_block.is_some() => RuleDecisions::WouldBlock,
                HitMode::Enforce => {
                    (own, enforced) = enforced.split_at(rule.limits_of(hit).min(enforced.len()));
                    RuleDecisions::Enforced(own)
                }
                // Rules in observe mode decide what the others admit.
                HitMode::Observe if outcome == ReplayOutcome::Allowed => {
                    let observed = observed.get_or_insert_with(|| answer.observed());
                    let count = rule.limits_of(hit);
                    RuleDecisions::Observed(observed.take(count).map(|limit| *limit.decision).collect())
                }
                HitMode::Observe => RuleDecisions::Nothing,
            };
            let bounds = TallyBounds {
                denied: &mut self.denied,
                max_subjects: self.max_subjects,
                stamps: self.stamps,
            };
            would_deny |= rule.add(hit, moment, &decisions, bounds);
        }
        self.counts.would_deny += u64::from(would_deny && outcome == ReplayOutcome::Allowed);
        if self.counts.decided >= self.next_sweep {
            self.clear_idle(moment.demand_ms);
        }
    }

    /// Frees the windows of idle subjects, at a small and constant cost per request.
    #[cold]
    fn clear_idle(&mut self, now_ms: u64) {
        let subjects: usize = self.rules.iter().map(|rule| rule.subjects.len()).sum();
        self.rules.iter_mut().for_each(|rule| rule.clear_idle(now_ms));
        self.next_sweep = self.counts.decided + SWEEP_EVERY.max(4 * subjects as u64);
    }

    /// Name of a rule.
    pub(super) fn rule_name(&self, rule: usize) -> &str {
        &self.rules[rule].report.name
    }

    /// Timelines of all requests, and of those that were refused.
    pub(super) fn timelines(&self) -> (GrowingTimeline, GrowingTimeline) {
        (self.requests_timeline.clone(), self.denied_timeline.clone())
    }

    /// Subjects with the most denials.
    pub(super) fn most_denied(&self, policy: &Policy, axis: &GrowingAxis) -> Vec<DeniedSubject> {
        let most = self.denied.most(MOST_DENIED).into_iter();
        let subjects = most.map(|(SubjectId { rule, hash }, denials)| {
            let tally = self.rules[rule as usize].subjects.get(hash);
            let rule = &policy.rules()[rule as usize];
            DeniedSubject {
                rule: rule.name().to_owned(),
                key: rule.subject_of(&denials.key),
                requests: tally.map_or(denials.count, |tally| u64::from(tally.requests)),
                denied: tally.map_or(denials.count, |tally| u64::from(tally.denied)),
                first_denial_ms: denials.first_ms,
                timeline: denials.timeline(axis),
            }
        });
        subjects.collect()
    }

    /// Effects of bounds, as remarks.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for rule in &self.rules {
            if rule.subjects.uncounted() > 0 {
                notes.push(format!(
                    "rule `{}` has more than {} subjects: {} requests of further ones are decided, but not among its \
                     subjects and peaks; raise --max-memory",
                    rule.report.name,
                    self.max_subjects,
                    rule.subjects.uncounted()
                ));
            }
        }
        if self.denied.dropped() > 0 {
            notes.push(format!(
                "many subjects were denied: {} of those with the fewest denials are missing in lists of subjects",
                self.denied.dropped()
            ));
        }
        notes
    }

    /// Numbers of all rules.
    pub(super) fn into_rules(self, axis: &GrowingAxis) -> Vec<RuleReplay> {
        self.rules.into_iter().map(|rule| rule.into_report(axis)).collect()
    }
}

/// What all rules share while a decision is counted.
struct TallyBounds<'a> {
    denied: &'a mut DeniedSubjects,
    max_subjects: usize,
    stamps: Stamps,
}

/// Decisions of a rule on a request.
enum RuleDecisions<'a> {
    Enforced(&'a [Decision]),
    Observed(Vec<Decision>),
    WouldBlock,
    /// A rule in observe mode, on a request that others refuse.
    Nothing,
}

impl RuleTally {
    fn limits_of(&self, hit: &Hit<'_>) -> usize {
        let next = self.first_limits.get(hit.limit_set + 1).copied().unwrap_or(self.limits.len());
        next - self.first_limits[hit.limit_set]
    }

    fn block(&mut self, bucket: Bucket) {
        self.requests += 1;
        self.blocked += 1;
        self.requests_timeline.add(bucket, 1);
        self.denied_timeline.add(bucket, 1);
    }

    /// Counts the decisions on a request. Returns whether it would deny or block the request.
    fn add(
        &mut self,
        hit: &Hit<'_>,
        moment: DecisionTime,
        decided: &RuleDecisions<'_>,
        TallyBounds { denied, max_subjects, stamps }: TallyBounds<'_>,
    ) -> bool {
        self.requests += 1;
        self.requests_timeline.add(moment.bucket, 1);
        let decisions = match decided {
            RuleDecisions::Enforced(decisions) => decisions,
            RuleDecisions::Observed(decisions) => &**decisions,
            RuleDecisions::WouldBlock | RuleDecisions::Nothing => &[],
        };
        let refuses = decisions.iter().any(|decision| decision.outcome != Outcome::Fits);
        let would_block = matches!(decided, RuleDecisions::WouldBlock);
        let is_enforced = hit.mode == HitMode::Enforce;
        if refuses && is_enforced {
            self.denied += 1;
        } else if refuses || would_block {
            self.would_deny += 1;
        }
        let hash = self.subjects.hash(&hit.key);
        if refuses || would_block {
            self.denied_timeline.add(moment.bucket, 1);
            let id = SubjectId { rule: hit.rule as u32, hash };
            denied.add(id, &hit.key, moment.at_ms, moment.bucket);
        }
        let first = self.first_limits[hit.limit_set];
        let count = self.limits_of(hit);
        let mut tally = self.subjects.tally(hash, max_subjects);
        if let Some(tally) = &mut tally {
            tally.requests = tally.requests.saturating_add(1);
            tally.denied = tally.denied.saturating_add(u32::from(refuses || would_block));
            tally.last_ms = moment.demand_ms;
        }
        if would_block {
            return true;
        }
        for (index, limit) in self.limits[first..first + count].iter_mut().enumerate() {
            let decision = decisions.get(index);
            limit.requests += 1;
            let violates = decision.is_some_and(|decision| decision.outcome != Outcome::Fits);
            match violates {
                true if is_enforced => limit.denied += 1,
                true => limit.would_deny += 1,
                false => {}
            }
            let Some(tally) = &mut tally else { continue };
            let demand = tally.demand((first + index) as u16, || limit.range(stamps));
            demand.touched |= violates;
            let current = limit.count_demand(demand, decision, (stamps, moment.demand_ms));
            limit.peak_timeline.add(moment.bucket, current);
        }
        refuses && !is_enforced
    }

    fn clear_idle(&mut self, now_ms: u64) {
        let idle_ms = self.limits.iter().map(|limit| limit.windows.high.idle_ms()).max().unwrap_or(0);
        self.subjects.clear_idle(now_ms, idle_ms);
    }

    fn into_report(mut self, axis: &GrowingAxis) -> RuleReplay {
        let mut summaries: Vec<LimitSummary> = self.limits.iter().map(|_| LimitSummary::default()).collect();
        let mut touched = CountRange::default();
        for subject in self.subjects.iter() {
            let (mut low, mut high) =
                (false, subject.denied > 0 && subject.demands.iter().all(|one| !one.touched));
            low |= high;
            for demand in &subject.demands {
                let limit = &self.limits[usize::from(demand.limit)];
                let range = limit.touches(demand);
                summaries[usize::from(demand.limit)].add(demand, range, limit.limit.quota());
                (low, high) = (low | range.0, high | range.1);
            }
            touched.low += u64::from(low);
            touched.high += u64::from(high);
        }
        // The limits of the rule come first, then those of its overrides, then those of its tiers.
        let conditions = std::iter::once(&[][..]).chain(self.overrides.iter().map(Vec::as_slice));
        let sets = self.report.limit_sets.iter().zip(conditions.chain(std::iter::repeat(&[][..])));
        let texts = sets.flat_map(|(set, when)| {
            set.limits.iter().map(|limit| (set.applies_to.clone(), when.to_vec(), limit.clone()))
        });
        let limits = std::mem::take(&mut self.limits).into_iter().zip(texts).zip(summaries);
        let limits = limits.filter(|((limit, _), _)| !is_never_binding(&limit.limit));
        let limits = limits.map(|((limit, (applies_to, when, text)), summary)| LimitReplay {
            name: text.name,
            limit: text.limit,
            applies_to,
            when,
            algorithm: text.algorithm,
            quota: limit.limit.ceiling(),
            window_ms: limit.limit.window_ms(),
            requests: limit.requests,
            denied: limit.denied,
            would_deny: limit.would_deny,
            subjects: summary.subjects,
            touched: summary.touched,
            peak: summary.peak,
            peaks: summary.into_peaks(),
            peak_timeline: limit.peak_timeline.into_timeline(axis),
        });
        RuleReplay {
            name: self.report.name,
            key: self.report.key,
            mode: self.mode,
            requests: self.requests,
            denied: self.denied,
            would_deny: self.would_deny,
            blocked: self.blocked,
            subjects: self.subjects.len() as u64,
            touched,
            limits: limits.collect(),
            requests_timeline: self.requests_timeline.into_timeline(axis),
            denied_timeline: self.denied_timeline.into_timeline(axis),
        }
    }
}

/// Sums of a limit over all subjects.
#[derive(Default)]
struct LimitSummary {
    subjects: u64,
    touched: CountRange,
    peak: CountRange,
    /// Subjects by their peak, rounded.
    peaks: BTreeMap<(u64, Option<u64>), u64>,
}

impl LimitSummary {
    fn add(&mut self, demand: &SubjectDemand, (low, high): (bool, bool), quota: u64) {
        let (least, most) = demand.peaks();
        self.subjects += 1;
        self.touched.low += u64::from(low);
        self.touched.high += u64::from(high);
        self.peak.low = self.peak.low.max(least);
        self.peak.high = self.peak.high.max(most.under(quota));
        let is_apart = most.fine <= FINE_QUOTA && most.coarse > FINE_QUOTA;
        let coarse = is_apart.then(|| rounded(most.coarse, quota));
        *self.peaks.entry((rounded(most.most(), quota), coarse)).or_default() += 1;
    }

    fn into_peaks(self) -> Vec<PeakCount> {
        let peaks = self.peaks.into_iter();
        peaks.map(|((peak, coarse_peak), subjects)| PeakCount { peak, coarse_peak, subjects }).collect()
    }
}

impl LimitTally {
    fn new(limit: Limit, stamps: Stamps) -> Result<Self, LimitError> {
        Ok(Self {
            limit,
            windows: DemandWindows::new(&limit, stamps)?,
            requests: 0,
            denied: 0,
            would_deny: 0,
            peak_timeline: GrowingTimeline::new(Aggregation::Max),
        })
    }

    /// Range of a subject without requests.
    fn range(&self, stamps: Stamps) -> Option<Box<DemandRange>> {
        DemandRange::new(&self.limit, &self.windows, stamps)
    }

    /// Counts a request of a subject. Returns the demand in the window that ends with it.
    fn count_demand(
        &self,
        demand: &mut SubjectDemand,
        decision: Option<&Decision>,
        (stamps, demand_ms): (Stamps, u64),
    ) -> u64 {
        let quota = self.limit.quota();
        if self.limit.needs_id() {
            let used = decision.map_or(0, |decision| quota.saturating_sub(decision.remaining));
            demand.high.raise(used);
            return used;
        }
        if let Some(DemandRange { low, touch }) = demand.range.as_deref_mut() {
            if let (Some(low), Some(window)) = (low, &self.windows.low) {
                low.count(window, demand_ms);
            }
            if let Some(touch) = touch {
                touch.count(&self.limit, stamps, demand_ms);
            }
        }
        demand.high.count(&self.windows.high, demand_ms).under(quota)
    }

    /// Whether the limit touches a subject: certainly, and possibly. A log denies a subject
    /// something exactly if its peak is above the quota. For a limit of what is in flight, a log of
    /// whole seconds gives an estimate.
    fn touches(&self, demand: &SubjectDemand) -> (bool, bool) {
        let Some(range) = demand.range.as_deref() else { return (demand.touched, demand.touched) };
        let (is_certain, is_possible) = match &range.touch {
            Some(touch) => touch.touches(),
            None if self.limit.needs_id() => (true, false),
            None => {
                let ((least, most), quota) = (demand.peaks(), self.limit.quota());
                (least > quota, most.exceeds(quota))
            }
        };
        (demand.touched && is_certain, demand.touched || is_possible)
    }
}

/// Peak above 1,000, rounded up to three digits, so that there are few different ones. It stays on
/// its side of the quota.
fn rounded(peak: u64, quota: u64) -> u64 {
    let mut step = 1;
    while peak / step >= 1_000 {
        step *= 10;
    }
    let rounded = peak.div_ceil(step) * step;
    if peak <= quota { rounded.min(quota) } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_peaks_are_rounded_up_on_their_side_of_the_quota() {
        let rows = [(0, 0), (7, 7), (999, 999), (1_000, 1_000), (1_001, 1_010), (123_401, 124_000)];
        for (peak, expected) in rows {
            assert_eq!(rounded(peak, 5), expected, "{peak}");
            assert_eq!(rounded(peak, peak), peak);
            assert_eq!(rounded(peak, 1_000_000), expected, "{peak}");
        }
        assert_eq!(rounded(1_001, 1_005), 1_005);
    }
}
