//! `--algorithms`: the policy with every rate limit under one algorithm, decided beside the others.

use slidegate::policy::{Hit, HitMode};
use slidegate::{Answer, LimitError, Outcome};

use super::demand::DemandWindow;
use super::error::ReplayError;
use super::policy::{Algorithm, ReplayPolicy, is_never_binding};
use super::report::{AlgorithmLimit, AlgorithmReplay};
use super::run::Run;
use super::subjects::SubjectTable;
use super::tally::{DecisionTime, ReplayOutcome};

/// Replay under one algorithm.
#[derive(Debug)]
pub(super) struct AlgorithmRun {
    algorithm: Algorithm,
    pub(super) run: Run,
    counts: AlgorithmCounts,
}

#[derive(Debug)]
pub(super) struct AlgorithmCounts {
    denied: u64,
    rules: Vec<RuleAdmissions>,
    max_subjects: usize,
}

/// What a rule admitted.
#[derive(Debug)]
struct RuleAdmissions {
    first_limits: Vec<usize>,
    /// Denied requests by limit.
    denied: Vec<u64>,
    windows: Vec<DemandWindow>,
    subjects: SubjectTable,
}

impl AlgorithmRun {
    pub(super) fn new(
        algorithm: Algorithm,
        policy: &ReplayPolicy,
        max_memory: usize,
        max_subjects: usize,
    ) -> Result<Self, ReplayError> {
        // The question is what the algorithms do, not what is enforced now.
        let policy = policy.clone().as_enforced().under(algorithm).compile()?;
        let rules = policy.rules().iter().map(|rule| RuleAdmissions::new(rule.limit_sets()));
        let rules = rules.collect::<Result<_, LimitError>>()?;
        let counts = AlgorithmCounts { denied: 0, rules, max_subjects };
        Ok(Self { algorithm, run: Run::new(policy, max_memory), counts })
    }

    /// The run, and where its decisions are counted.
    pub(super) fn parts(&mut self) -> (&mut Run, &mut AlgorithmCounts) {
        (&mut self.run, &mut self.counts)
    }

    pub(super) fn into_report(self) -> AlgorithmReplay {
        let policy = self.run.policy();
        let rules = policy.rules().iter().zip(self.counts.rules);
        let limits = rules.flat_map(|(rule, admissions)| {
            let texts = rule.limit_sets().iter().flat_map(|set| set.limits().iter().zip(set.texts()));
            let most = admissions.most();
            let rows = texts.zip(admissions.denied).zip(most);
            let rows = rows.filter(|(((limit, _), _), _)| !limit.needs_id() && !is_never_binding(limit));
            let rows = rows.map(|(((limit, text), denied), most_admitted)| AlgorithmLimit {
                rule: rule.name().to_owned(),
                limit: text.to_string(),
                quota: limit.quota(),
                denied,
                most_admitted,
            });
            rows.collect::<Vec<_>>()
        });
        let (algorithm, denied) = (self.algorithm.name(), self.counts.denied);
        AlgorithmReplay { algorithm, denied, limits: limits.collect() }
    }
}

impl AlgorithmCounts {
    /// Counts a decision: denials by limit, and what was admitted in any window.
    pub(super) fn add(&mut self, moment: DecisionTime, answer: &Answer, hits: &[Hit<'_>]) {
        self.denied += u64::from(ReplayOutcome::of(answer) == ReplayOutcome::Denied);
        let is_admitted = ReplayOutcome::of(answer) == ReplayOutcome::Allowed;
        let mut decisions = answer.verdict().decisions.iter();
        for hit in hits.iter().filter(|hit| hit.consults(HitMode::Enforce)) {
            let Some(rule) = self.rules.get_mut(hit.rule) else { continue };
            for (index, decision) in rule.limits(hit.limit_set).zip(decisions.by_ref()) {
                rule.denied[index] += u64::from(decision.outcome != Outcome::Fits);
            }
            if is_admitted {
                rule.admit(hit, moment.at_ms, self.max_subjects);
            }
        }
    }
}

impl RuleAdmissions {
    fn new(limit_sets: &[slidegate::policy::LimitSet]) -> Result<Self, LimitError> {
        let (mut first_limits, mut windows) = (Vec::new(), Vec::new());
        for set in limit_sets {
            first_limits.push(windows.len());
            for limit in set.limits() {
                windows.push(DemandWindow::of_admissions(limit)?);
            }
        }
        first_limits.push(windows.len());
        Ok(Self { first_limits, denied: vec![0; windows.len()], windows, subjects: SubjectTable::new() })
    }

    fn limits(&self, limit_set: usize) -> std::ops::Range<usize> {
        self.first_limits[limit_set]..self.first_limits[limit_set + 1]
    }

    fn admit(&mut self, hit: &Hit<'_>, at_ms: u64, max_subjects: usize) {
        let (limits, hash) = (self.limits(hit.limit_set), self.subjects.hash(&hit.key));
        let Some(tally) = self.subjects.tally(hash, max_subjects) else { return };
        for index in limits {
            tally.demand(index as u16, || None).high.count(&self.windows[index], at_ms);
        }
    }

    /// Most that was admitted of one subject in any window, by limit.
    fn most(&self) -> Vec<u64> {
        let mut most = vec![0; self.windows.len()];
        for demand in self.subjects.iter().flat_map(|subject| &subject.demands) {
            let of_limit: &mut u64 = &mut most[usize::from(demand.limit)];
            *of_limit = (*of_limit).max(demand.high.most());
        }
        most
    }
}
