//! Subjects by their attributes: what their limits say, without charging anything, and a fresh start for them.

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

/// How many subjects are asked about at a time: of every rule of a policy there may be one.
const CONCURRENCY: usize = 16;
/// A space of which nothing is ever charged. No rule can have this name.
const PROBE_SPACE: &str = "/charge";
/// What nothing is ever charged under.
static ONE: [Limit; 1] = [Limit::per_second(1)];

/// A charge of a subject that can never fit: what it is asked together with only looks.
pub(super) fn never<'k>(key: &'k Key<'k>) -> Charge<'k> {
    Charge { space: Space::named(PROBE_SPACE), key, limits: &ONE, cost: 2 }
}

/// A subject as it is now.
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

/// One limit of a subject that was looked at.
#[derive(Clone, Copy, Debug)]
pub struct LimitUsage<'a> {
    /// What it is called in headers.
    pub name: &'a str,
    /// As people write it.
    pub text: &'a str,
    /// The limit that says so: the rule's own, or this node's share of it.
    pub limit: Limit,
    /// The rule's own limit, where this node's share of it says so because the store does not answer.
    pub share_of: Option<&'a Limit>,
    /// Units, or places, that are taken, also those above the quota (up to [`MAX_QUOTA`]); `None` if the store did not say, as this
    /// node's share is not what all have used.
    pub used: Option<u64>,
    /// The largest cost that fits now; `None` if the store did not say.
    pub remaining: Option<u64>,
    /// After how long one unit fits again, where none does now.
    pub retry_after_ms: Option<u64>,
    /// After how long at most a place is free, where none is: one may be released at any time.
    pub retry_after_at_most_ms: Option<u64>,
    /// After how long it is as if never seen, if nothing more comes; `None` if the store did not say.
    pub reset_after_ms: Option<u64>,
}

impl Inspection {
    /// The rule whose subject it is.
    pub fn rule(&self) -> &str {
        self.of().name()
    }

    /// Whom it is about, part by part of the rule's key.
    pub fn key(&self) -> &[KeyText] {
        &self.key
    }

    /// Whether the rule refuses what does not fit.
    pub fn mode(&self) -> HitMode {
        self.mode
    }

    /// The list of the rule that these attributes are on.
    pub fn listed(&self) -> Option<ListMatch> {
        self.listed
    }

    /// Which of the rule's sets of limits holds for these attributes, as [`LimitSetReport`](crate::policy::LimitSetReport)
    /// tells it.
    pub fn applies_to(&self) -> String {
        self.of().applies_to(self.terms)
    }

    /// Who told the numbers: [`Source::Local`] is this node's share, while the store does not answer.
    pub fn source(&self) -> Source {
        self.verdict.source
    }

    /// When it was looked at.
    pub fn looked_at_ms(&self) -> u64 {
        self.verdict.decided_at_ms
    }

    /// Every limit that holds for these attributes.
    pub fn limits(&self) -> impl Iterator<Item = LimitUsage<'_>> {
        let terms = &self.of().limit_sets()[self.terms];
        let known = is_known(&self.verdict);
        let named = terms.limits().iter().zip(terms.names()).zip(terms.texts());
        let numbers = self.verdict.decisions.iter().zip(&self.used).zip(&self.waits_ms);
        let is_share = self.verdict.source == Source::Local;
        named.zip(numbers).map(move |(((limit, name), text), ((decision, used), wait_ms))| LimitUsage {
            name,
            text,
            limit: if is_share { share(limit, self.nodes) } else { *limit },
            share_of: is_share.then_some(limit),
            used: *used,
            remaining: known.then_some(decision.remaining),
            retry_after_ms: wait_ms.filter(|_| !limit.needs_id()),
            retry_after_at_most_ms: wait_ms.filter(|_| limit.needs_id()),
            reset_after_ms: known.then_some(decision.reset_after_ms),
        })
    }

    fn of(&self) -> &Rule {
        &self.policy.rules()[self.rule]
    }
}

/// Whether somebody said what remains.
fn is_known(verdict: &Verdict) -> bool {
    matches!(verdict.source, Source::Store | Source::Local)
}

/// The same history under the largest quota there is, for peeks that are to see all of it. A meter has no debts above its burst.
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

/// A subject that was reset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResetSubject {
    /// The rule whose subject it is.
    pub rule: String,
    /// Whom it is about, part by part of the rule's key.
    pub key: Vec<KeyText>,
    /// Every limit under which it is as if never seen: those of all sets of limits of the rule.
    pub limits: Vec<String>,
}

impl<S: Store, C: Clock> Gate<S, C> {
    /// Looks at every subject that these attributes name: with `rule` at the one of that rule, otherwise at those of all rules
    /// whose key the attributes fill. Nothing is charged, and whether the rule's `match` and lists apply to the attributes does
    /// not matter. Rules without a key, and what requests that lack a part of the key share, are looked at by name only.
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

    /// Resets every subject that [`Gate::inspect`] would find: all its limits, of all sets of limits of the rule, are as if it was never
    /// seen. Other processes with the same store learn of it when they look at its board.
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

    /// What the first subject that [`Gate::inspect`] would find has used of each of its limits, in one call; `None` if there is no such
    /// subject, or the store does not say.
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

    /// What is used under each limit: what remains tells it, unless nothing does; then more may be used than the quota.
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

    /// How long one more unit has to wait under each limit that is used up. A look has nothing to wait for, so one unit is
    /// asked for, together with a cost that can never fit: then no clock and no other request can make it a charge. That
    /// one counts for the same key, and so for the same slot of a Cluster. What can never fit is always asked for,
    /// so the wait is exact even where a denial is remembered.
    async fn waits(&self, charge: &Charge<'_>, verdict: &Verdict) -> Result<Vec<Option<u64>>, S::Error> {
        let known = is_known(verdict);
        let used_up = |at: usize| known && verdict.decisions.get(at).is_some_and(|one| one.remaining == 0);
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
        let mut known = BTreeSet::new();
        let texts = all().map(|(_, text)| text).filter(|text| known.insert(&***text));
        let limits = texts.map(|text| text.to_string()).collect();
        for some in ids.chunks(MAX_LIMITS) {
            let subject = ForgetRequest { space: rule.space(), key: &named.key, limits: some };
            self.store.forget(&subject).await?;
        }
        Ok(ResetSubject { rule: rule.name().to_owned(), key: named.parts.clone(), limits })
    }
}
