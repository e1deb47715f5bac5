//! Inspection and reset of subjects by their attributes; inspection charges nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::try_join_all;
use slidegate_core::{Limit, LimitId, LimitKind, MAX_ENTRIES, MAX_QUOTA, Outcome, Source, Verdict};

use super::Gate;
use super::active_policy::ActivePolicy;
use super::request::GateError;
use crate::clock::Clock;
use slidegate_policy::Request;
use slidegate_policy::{HitMode, KeyText, ListMatch, Policy, Rule, RuleSubject};
use slidegate_store::fallback::share;
use slidegate_store::{Charge, ChargeRequest, ForgetRequest, MAX_LIMITS, Store};
use slidegate_store::{Key, Space};

/// Maximum of concurrent calls to the store: each rule of a policy may have a subject.
const CONCURRENCY: usize = 16;
/// Space in which nothing is ever charged. No rule can have this name.
const PROBE_SPACE: &str = "/charge";
/// Limit under which nothing is ever charged.
static ONE: [Limit; 1] = [Limit::per_second(1)];

/// Charge that can never fit: charges in the same call are peeks.
pub(super) fn never<'k>(key: &'k Key<'k>) -> Charge<'k> {
    Charge { space: Space::named(PROBE_SPACE), key, limits: &ONE, cost: 2 }
}

/// Current state of a subject.
#[derive(Clone, Debug)]
pub struct Inspection {
    policy: Arc<ActivePolicy>,
    rule: usize,
    terms: usize,
    key: Vec<KeyText>,
    mode: HitMode,
    listed: Option<ListMatch>,
    verdict: Verdict,
    used: Vec<Option<u64>>,
    waits_ms: Vec<Option<u64>>,
    nodes: u64,
}

/// Limit of an inspected subject.
#[derive(Clone, Copy, Debug)]
pub struct LimitUsage<'a> {
    /// Name in headers.
    pub name: &'a str,
    /// Text of the limit, as people write it.
    pub text: &'a str,
    /// Limit that decided: the rule's own, or this node's share of it.
    pub limit: Limit,
    /// The rule's own limit, where this node's share of it decided because the store does not
    /// answer.
    pub share_of: Option<&'a Limit>,
    /// Units or slots in use, including those above the quota (up to [`MAX_QUOTA`]); `None` without
    /// the store, because this node's share does not cover the usage of all nodes.
    pub used: Option<u64>,
    /// Largest cost that fits now; `None` without the store.
    pub remaining: Option<u64>,
    /// Time until one unit fits, where none does now.
    pub retry_after_ms: Option<u64>,
    /// Longest time until a slot is free, where none is: one may be released earlier.
    pub retry_after_at_most_ms: Option<u64>,
    /// Time until all usage has left its windows, without further requests; `None` without the
    /// store.
    pub reset_after_ms: Option<u64>,
}

impl Inspection {
    /// Rule of the subject.
    pub fn rule(&self) -> &str {
        self.of().name()
    }

    /// Key of the subject, by the parts of the rule's key.
    pub fn key(&self) -> &[KeyText] {
        &self.key
    }

    /// Mode of the rule for this subject: enforced or observed.
    pub fn mode(&self) -> HitMode {
        self.mode
    }

    /// List of the rule that these attributes are on.
    pub fn listed(&self) -> Option<ListMatch> {
        self.listed
    }

    /// The rule's limit set for these attributes, as in
    /// [`LimitSetReport`](crate::policy::LimitSetReport).
    pub fn applies_to(&self) -> String {
        self.of().applies_to(self.terms)
    }

    /// Source of the numbers: [`Source::Local`] is this node's share, while the store does not
    /// answer.
    pub fn source(&self) -> Source {
        self.verdict.source
    }

    /// Time of the inspection.
    pub fn looked_at_ms(&self) -> u64 {
        self.verdict.decided_at_ms
    }

    /// Limits that apply to these attributes.
    pub fn limits(&self) -> impl Iterator<Item = LimitUsage<'_>> {
        let terms = &self.of().limit_sets()[self.terms];
        let has_numbers = self.verdict.source.has_numbers();
        let named = terms.limits().iter().zip(terms.names()).zip(terms.texts());
        let numbers = self.verdict.decisions.iter().zip(&self.used).zip(&self.waits_ms);
        let is_share = self.verdict.source == Source::Local;
        named.zip(numbers).map(move |(((limit, name), text), ((decision, used), wait_ms))| LimitUsage {
            name,
            text,
            limit: if is_share { share(limit, self.nodes) } else { *limit },
            share_of: is_share.then_some(limit),
            used: *used,
            remaining: has_numbers.then_some(decision.remaining),
            retry_after_ms: wait_ms.filter(|_| !limit.needs_id()),
            retry_after_at_most_ms: wait_ms.filter(|_| limit.needs_id()),
            reset_after_ms: has_numbers.then_some(decision.reset_after_ms),
        })
    }

    fn of(&self) -> &Rule {
        &self.policy.rules()[self.rule]
    }
}

/// Limit with the same history and the largest quota, for peeks at all of it. A meter has no debts
/// above its burst.
fn roomy(limit: &Limit) -> Limit {
    let [head, _, window_ms, extra] = limit.to_words();
    let words = match limit.kind() {
        LimitKind::Gcra { .. } => return *limit,
        LimitKind::InFlight => [head, MAX_ENTRIES, window_ms, extra],
        // A peek stamps nothing, so the coarsest resolution will do.
        LimitKind::Log { .. } => [head, MAX_QUOTA, window_ms, window_ms],
        LimitKind::Counter | LimitKind::Fixed => [head, MAX_QUOTA, window_ms, extra],
    };
    Limit::from_words(words).unwrap_or(*limit)
}

/// Subject that was reset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResetSubject {
    /// Rule of the subject.
    pub rule: String,
    /// Key of the subject, by the parts of the rule's key.
    pub key: Vec<KeyText>,
    /// Limits without usage from now on: those of all limit sets of the rule.
    pub limits: Vec<String>,
}

impl<S: Store, C: Clock> Gate<S, C> {
    /// Inspects the subjects of these attributes: the one of `rule`, or those of all rules whose
    /// key the attributes fill. Nothing is charged, and the rule's `match` and lists need not apply
    /// to the attributes. Rules without a key, and the subject that requests without a part of the
    /// key share, need the name of the rule.
    pub async fn inspect(
        &self,
        rule: Option<&str>,
        request: &Request<'_>,
    ) -> Result<Vec<Inspection>, GateError<S::Error>> {
        let policy = self.policy();
        let named = policy.lookup(rule, request)?;
        let mut found = Vec::with_capacity(named.len());
        for some in named.chunks(CONCURRENCY) {
            let dry_run_hits = some.iter().map(|named| self.inspect_one(&policy, named));
            found.extend(try_join_all(dry_run_hits).await.map_err(GateError::Store)?);
        }
        Ok(found)
    }

    /// Resets the subjects that [`Gate::inspect`] would find, under all limit sets of their rules.
    /// Other processes with the same store notice it when they read its notes.
    pub async fn reset(
        &self,
        rule: Option<&str>,
        request: &Request<'_>,
    ) -> Result<Vec<ResetSubject>, GateError<S::Error>> {
        let policy = self.policy();
        let named = policy.lookup(rule, request)?;
        let mut forgotten = Vec::with_capacity(named.len());
        for some in named.chunks(CONCURRENCY) {
            let each = some.iter().map(|named| self.reset_one(&policy, named));
            forgotten.extend(try_join_all(each).await.map_err(GateError::Store)?);
        }
        Ok(forgotten)
    }

    async fn inspect_one(
        &self,
        policy: &Arc<ActivePolicy>,
        named: &RuleSubject<'_>,
    ) -> Result<Inspection, S::Error> {
        let rule = &policy.rules()[named.rule];
        let limits = rule.limit_sets()[named.limit_set].limits();
        let charge = Charge { space: rule.space(), key: &named.key, limits, cost: 0 };
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder: self.next_id(), charges: &[charge] };
        let verdict = self.store.decide(&call).await?;
        let used = self.used_of(&charge, &verdict).await?;
        let waits_ms = self.waits(&charge, &verdict).await?;
        Ok(Inspection {
            policy: Arc::clone(policy),
            rule: named.rule,
            terms: named.limit_set,
            key: named.parts.clone(),
            mode: named.mode,
            listed: named.list,
            verdict,
            used,
            waits_ms,
            nodes: self.store.nodes(),
        })
    }

    /// Usage of the first subject that [`Gate::inspect`] would find, by limit, in one call; `None`
    /// if there is no such subject, or without the store.
    pub async fn used(
        &self,
        rule: &str,
        request: &Request<'_>,
    ) -> Result<Option<Vec<u64>>, GateError<S::Error>> {
        let policy = self.policy();
        let named = policy.lookup(Some(rule), request)?;
        let Some(named) = named.first() else { return Ok(None) };
        let rule = &policy.rules()[named.rule];
        let limits = rule.limit_sets()[named.limit_set].limits();
        let charge = Charge { space: rule.space(), key: &named.key, limits, cost: 0 };
        self.used_in_all(&charge).await.map_err(GateError::Store)
    }

    /// Usage under each limit. It follows from the remaining units, unless there are none: then it
    /// may exceed the quota.
    async fn used_of(&self, charge: &Charge<'_>, verdict: &Verdict) -> Result<Vec<Option<u64>>, S::Error> {
        if verdict.source != Source::Store {
            return Ok(vec![None; charge.limits.len()]);
        }
        if verdict.decisions.iter().any(|decision| decision.remaining == 0) {
            let used = self.used_in_all(charge).await?;
            return Ok(used.map_or_else(
                || vec![None; charge.limits.len()],
                |used| used.into_iter().map(Some).collect(),
            ));
        }
        let used = charge.limits.iter().zip(&*verdict.decisions);
        Ok(used.map(|(limit, decision)| Some(limit.ceiling() - decision.remaining)).collect())
    }

    async fn used_in_all(&self, charge: &Charge<'_>) -> Result<Option<Vec<u64>>, S::Error> {
        let limits: Vec<Limit> = charge.limits.iter().map(roomy).collect();
        let charges = [Charge { limits: &limits, cost: 0, ..*charge }];
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder: self.next_id(), charges: &charges };
        let verdict = self.store.decide(&call).await?;
        let used = limits.iter().zip(&*verdict.decisions);
        let used = used.map(|(limit, decision)| limit.ceiling().saturating_sub(decision.remaining));
        Ok((verdict.source == Source::Store).then(|| used.collect()))
    }

    /// Wait for one more unit under each limit without room. A peek has no wait, so the call is for
    /// one unit, together with a cost that can never fit: then no clock and no other request can
    /// make it a charge. That cost has the same key, and so the same slot of a Cluster. A cost that
    /// never fits always goes to the store, so that the wait is exact even where a denial is
    /// cached.
    async fn waits(&self, charge: &Charge<'_>, verdict: &Verdict) -> Result<Vec<Option<u64>>, S::Error> {
        let has_numbers = verdict.source.has_numbers();
        let used_up =
            |at: usize| has_numbers && verdict.decisions.get(at).is_some_and(|one| one.remaining == 0);
        let mut waits_ms = vec![None; charge.limits.len()];
        if charge.limits.len() >= MAX_LIMITS || !(0..charge.limits.len()).any(used_up) {
            return Ok(waits_ms);
        }
        let charges = [Charge { cost: 1, ..*charge }, never(charge.key)];
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder: self.next_id(), charges: &charges };
        let verdict = self.store.decide(&call).await?;
        for (at, (wait_ms, decision)) in waits_ms.iter_mut().zip(&*verdict.decisions).enumerate() {
            if let Outcome::RetryAfter(ms) = decision.outcome
                && used_up(at)
            {
                *wait_ms = Some(ms);
            }
        }
        Ok(waits_ms)
    }

    async fn reset_one(&self, policy: &Policy, named: &RuleSubject<'_>) -> Result<ResetSubject, S::Error> {
        let rule = &policy.rules()[named.rule];
        let all = || rule.limit_sets().iter().flat_map(|terms| terms.limits().iter().zip(terms.texts()));
        let ids: BTreeSet<LimitId> = all().map(|(limit, _)| limit.id()).collect();
        let ids: Vec<LimitId> = ids.into_iter().collect();
        let mut unique = BTreeSet::new();
        let texts = all().map(|(_, text)| text).filter(|text| unique.insert(&***text));
        let limits = texts.map(|text| text.to_string()).collect();
        for some in ids.chunks(MAX_LIMITS) {
            let subject = ForgetRequest { space: rule.space(), key: &named.key, limits: some };
            self.store.forget(&subject).await?;
        }
        Ok(ResetSubject { rule: rule.name().to_owned(), key: named.parts.clone(), limits })
    }
}
