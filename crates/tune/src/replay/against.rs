//! Comparison with another policy: what only one of both refuses.

use slidegate::policy::{Hit, HitMode, Policy};
use slidegate::{Answer, Key, Outcome, Request};

use super::denied_subjects::{DeniedSubjects, SubjectId};
use super::report::{AgainstReport, ReplayCounts, RuleCount, SubjectCount};
use super::run::{RequestTime, Run};
use super::subjects::SubjectTable;
use super::tally::{DecisionTime, ReplayOutcome};

/// Subjects in each list.
const MOST_CHANGED: usize = 20;

/// Other policy beside the one that is replayed.
#[derive(Debug)]
pub(super) struct OtherPolicy {
    pub(super) name: String,
    pub(super) run: Run,
    pub(super) counts: ReplayCounts,
    newly_denied: Changes,
    newly_allowed: Changes,
}

/// Requests that only one of both policies refuses.
#[derive(Debug)]
struct Changes {
    requests: u64,
    /// By index of the rule.
    by_rule: Vec<u64>,
    subjects: DeniedSubjects,
    hashes: SubjectTable,
}

/// Answer with the rules that apply, and the policy.
#[derive(Clone, Copy)]
pub(super) struct PolicyAnswer<'a> {
    pub(super) answer: &'a Answer,
    pub(super) hits: &'a [Hit<'a>],
    pub(super) policy: &'a Policy,
}

impl PolicyAnswer<'_> {
    fn is_refused(&self) -> bool {
        ReplayOutcome::of(self.answer) != ReplayOutcome::Allowed
    }
}

impl OtherPolicy {
    pub(super) fn new(name: String, run: Run, rules: usize) -> Self {
        let old_rules = run.policy().rules().len();
        let (newly_denied, newly_allowed) = (Changes::new(rules), Changes::new(old_rules));
        Self { name, run, counts: ReplayCounts::default(), newly_denied, newly_allowed }
    }

    /// Decides a request that the other policy decided too.
    pub(super) fn decide(
        &mut self,
        moment: DecisionTime,
        time: RequestTime,
        request: &Request<'_>,
        new: PolicyAnswer<'_>,
    ) {
        let Self { run, counts, newly_denied, newly_allowed, .. } = self;
        let policy = run.policy();
        let decided = run.decide(time, request, |answer, hits| {
            let old = PolicyAnswer { answer, hits, policy: &policy };
            counts.add(&old);
            match (new.is_refused(), old.is_refused()) {
                (true, false) => newly_denied.add(moment, &new),
                (false, true) => newly_allowed.add(moment, &old),
                _ => {}
            }
        });
        counts.invalid += u64::from(decided.is_err());
    }

    pub(super) fn into_report(self, policy: &Policy) -> AgainstReport {
        let old = self.run.policy();
        AgainstReport {
            policy: self.name,
            requests: self.counts,
            newly_denied: self.newly_denied.requests,
            newly_allowed: self.newly_allowed.requests,
            newly_denied_by: self.newly_denied.by_rule(policy),
            newly_allowed_by: self.newly_allowed.by_rule(&old),
            newly_denied_subjects: self.newly_denied.subjects(policy),
            newly_allowed_subjects: self.newly_allowed.subjects(&old),
        }
    }
}

impl ReplayCounts {
    /// Counts an answer.
    fn add(&mut self, decided: &PolicyAnswer<'_>) {
        self.decided += 1;
        match ReplayOutcome::of(decided.answer) {
            ReplayOutcome::Denied => self.denied += 1,
            ReplayOutcome::Blocked => self.blocked += 1,
            ReplayOutcome::Allowed => {
                self.unlimited += u64::from(decided.hits.is_empty());
                let would_block = decided.hits.iter().any(|hit| hit.would_block.is_some());
                let would_deny = decided.answer.observed().any(|limit| limit.is_violated());
                self.would_deny += u64::from(would_block || would_deny);
            }
        }
    }
}

impl Changes {
    fn new(rules: usize) -> Self {
        let subjects = DeniedSubjects::default();
        Self { requests: 0, by_rule: vec![0; rules], subjects, hashes: SubjectTable::new() }
    }

    /// Counts a request for every rule that refuses it.
    fn add(&mut self, moment: DecisionTime, decided: &PolicyAnswer<'_>) {
        self.requests += 1;
        let PolicyAnswer { answer, hits, policy } = *decided;
        if let Some((name, _)) = answer.blocked() {
            if let Some(rule) = policy.rules().iter().position(|rule| rule.name() == name) {
                self.by_rule[rule] += 1;
            }
            return;
        }
        let mut decisions = answer.verdict().decisions.iter();
        for hit in hits.iter().filter(|hit| hit.consults(HitMode::Enforce)) {
            let limits = policy.rules()[hit.rule].limit_sets()[hit.limit_set].limits().len();
            let mut own = decisions.by_ref().take(limits);
            let refuses = own.by_ref().fold(false, |any, decision| any | (decision.outcome != Outcome::Fits));
            if refuses {
                self.by_rule[hit.rule] += 1;
                self.add_subject(hit.rule, &hit.key, moment);
            }
        }
    }

    fn add_subject(&mut self, rule: usize, key: &Key<'_>, moment: DecisionTime) {
        let id = SubjectId { rule: rule as u32, hash: self.hashes.hash(key) };
        self.subjects.add(id, key, moment.at_ms, moment.bucket);
    }

    fn by_rule(&self, policy: &Policy) -> Vec<RuleCount> {
        let rules = policy.rules().iter().zip(&self.by_rule).enumerate();
        let rules = rules.filter(|(_, (_, requests))| **requests > 0);
        let rules = rules.map(|(index, (rule, requests))| RuleCount {
            rule: rule.name().to_owned(),
            requests: *requests,
            subjects: self.subjects.of_rule(index as u32),
        });
        rules.collect()
    }

    fn subjects(&self, policy: &Policy) -> Vec<SubjectCount> {
        let most = self.subjects.most(MOST_CHANGED).into_iter();
        let most = most.map(|(id, denials)| {
            let rule = &policy.rules()[id.rule as usize];
            let (key, requests) = (rule.subject_of(&denials.key), denials.count);
            SubjectCount { rule: rule.name().to_owned(), key, requests }
        });
        most.collect()
    }
}
