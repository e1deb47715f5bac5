//! What an observer should have counted, from nothing but the answers that were given.

use std::collections::BTreeMap;

use slidegate::policy::{Blocked, HitMode};
use slidegate::telemetry::{RequestCounts, Series, SeriesCounts, Telemetry, TopList};
use slidegate::{Answer, Limit, LimitAnswer, Outcome, Source, Verdict};

/// Rule, limit and route.
type Name = (String, String, String);

/// Counts by hand.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Recount {
    pub(crate) requests: RequestCounts,
    lines: BTreeMap<Name, (SeriesCounts, SeriesCounts)>,
    /// Refused by rules that are enforced, by rule and subject.
    denied: BTreeMap<(String, String), u64>,
    /// With little room left.
    near: BTreeMap<(String, String), u64>,
}

/// How a request is counted.
pub(crate) struct Way<'a> {
    pub(crate) cost: u64,
    /// A charge is near if it leaves no more hundredths of the quota.
    pub(crate) near_percent: u64,
    /// By which route a rule was reached.
    pub(crate) route: &'a dyn Fn(&str) -> String,
    /// Whom a rule counts it for.
    pub(crate) subject: &'a dyn Fn(&str) -> String,
    /// Rules that look on and would refuse it without asking a limit.
    pub(crate) would_block: &'a [(String, Blocked)],
}

fn fits(limit: &LimitAnswer<'_>) -> bool {
    limit.decision.outcome == Outcome::Fits
}

impl Recount {
    pub(crate) fn answer(&mut self, answer: &Answer, way: &Way<'_>) {
        if let Some((rule, why)) = answer.blocked() {
            self.requests.blocked += 1;
            self.bar(rule, why, HitMode::Enforce, way);
            return;
        }
        if answer.replayed() {
            self.requests.replayed += 1;
            return;
        }
        let (limits, observed): (Vec<_>, Vec<_>) = (answer.limits().collect(), answer.observed().collect());
        self.whole(answer.is_allowed(), limits.len() + observed.len(), way.cost);
        self.limits(&limits, HitMode::Enforce, answer.is_allowed(), way);
        self.apart(&observed, way);
        let would_block = answer.is_allowed() && self.would_block(way);
        self.requests.would_deny += u64::from(would_block || !observed.iter().all(fits));
    }

    /// `way` shows how each of them is counted.
    pub(crate) fn answers(&mut self, answers: &Answer, way: impl Fn(usize, &mut dyn FnMut(&Way<'_>))) {
        let (mut limits, mut cost, mut would_deny) = (0, 0, false);
        for (index, one) in answers.items().enumerate() {
            way(index, &mut |way| {
                // All others only look if one is refused anyhow.
                let way = &Way { cost: if answers.is_blocked() { 0 } else { way.cost }, ..*way };
                let (enforced, observed): (Vec<_>, Vec<_>) =
                    (one.limits().collect(), one.observed().collect());
                self.limits(&enforced, HitMode::Enforce, answers.verdict().is_allowed(), way);
                self.apart(&observed, way);
                limits += enforced.len() + observed.len();
                cost += way.cost;
                would_deny |= !observed.iter().all(fits);
                would_deny |= answers.is_allowed() && self.would_block(way);
                if let Some((rule, why)) = one.blocked() {
                    self.bar(rule, why, HitMode::Enforce, way);
                }
            });
        }
        if answers.is_blocked() {
            self.requests.blocked += 1;
        } else {
            self.whole(answers.is_allowed(), limits, cost);
        }
        self.requests.would_deny += u64::from(would_deny);
    }

    /// A limit that came along.
    pub(crate) fn ad_hoc(&mut self, verdict: &Verdict, limit: &Limit, way: &Way<'_>) {
        self.whole(verdict.is_allowed(), 1, way.cost);
        let answer = LimitAnswer {
            rule: None,
            name: "",
            text: "",
            limit: *limit,
            share_of: None,
            decision: &verdict.decisions[0],
            source: verdict.source,
            decided_at_ms: verdict.decided_at_ms,
        };
        self.limits(&[answer], HitMode::Enforce, verdict.is_allowed(), way);
    }

    /// Whether a rule that looks on would refuse without asking a limit.
    fn would_block(&mut self, way: &Way<'_>) -> bool {
        for (rule, why) in way.would_block {
            self.bar(rule, *why, HitMode::Observe, way);
        }
        !way.would_block.is_empty()
    }

    fn bar(&mut self, rule: &str, why: Blocked, mode: HitMode, way: &Way<'_>) {
        let reason = if why == Blocked::DenyList { "(deny list)" } else { "(missing key)" };
        self.count(Some((rule, reason)), false, mode, false, false, way);
        if mode == HitMode::Enforce {
            *self.denied.entry((rule.to_owned(), (way.subject)(rule))).or_default() += 1;
        }
    }

    fn whole(&mut self, is_allowed: bool, limits: usize, cost: u64) {
        let RequestCounts { allowed, denied, unlimited, peeked, .. } = &mut self.requests;
        *match (is_allowed, limits, cost) {
            (false, ..) => denied,
            (true, 0, _) => unlimited,
            (true, _, 0) => peeked,
            (true, ..) => allowed,
        } += 1;
    }

    /// Rules that only look on are asked each by itself.
    fn apart(&mut self, limits: &[LimitAnswer<'_>], way: &Way<'_>) {
        for own in limits.chunk_by(|one, next| one.rule == next.rule) {
            self.limits(own, HitMode::Observe, own.iter().all(fits), way);
        }
    }

    fn limits(&mut self, limits: &[LimitAnswer<'_>], mode: HitMode, is_allowed: bool, way: &Way<'_>) {
        let mut refused: Vec<(String, bool)> = Vec::new();
        for limit in limits {
            let near = limit.source == Source::Store
                && limit.decision.remaining * 100 <= limit.limit.ceiling() * way.near_percent;
            let named = limit.rule.map(|rule| (rule, limit.name));
            let is_near = self.count(named, fits(limit), mode, is_allowed, near, way);
            let rule = limit.rule.unwrap_or("(ad hoc)").to_owned();
            if mode == HitMode::Enforce && (is_near || !fits(limit)) {
                refused.push((rule, !fits(limit)));
            }
        }
        for own in refused.chunk_by(|one, next| one.0 == next.0) {
            let is_denied = own.iter().any(|(_, denied)| *denied);
            let list = if is_denied { &mut self.denied } else { &mut self.near };
            *list.entry((own[0].0.clone(), (way.subject)(&own[0].0))).or_default() += 1;
        }
    }

    /// Whether it was a near miss.
    fn count(
        &mut self,
        named: Option<(&str, &str)>,
        fits: bool,
        mode: HitMode,
        is_allowed: bool,
        near: bool,
        way: &Way<'_>,
    ) -> bool {
        let name = match named {
            Some((rule, limit)) => (rule.to_owned(), limit.to_owned(), (way.route)(rule)),
            None => ("(ad hoc)".to_owned(), String::new(), String::new()),
        };
        let (enforced, observed) = self.lines.entry(name).or_default();
        let counts = if mode == HitMode::Enforce { enforced } else { observed };
        let is_charged = fits && way.cost > 0 && is_allowed;
        match (fits, way.cost) {
            (false, _) => counts.denied += 1,
            (true, 0) => counts.peeked += 1,
            (true, _) if is_allowed => counts.allowed += 1,
            (true, _) => counts.uncharged += 1,
        }
        counts.near_misses += u64::from(is_charged && near);
        is_charged && near
    }

    /// What differs, if anything does.
    pub(crate) fn compare(&self, observer: &Telemetry, now_ms: u64) -> Result<(), String> {
        let to_counts = |line: Series| {
            let name = (line.rule.to_string(), line.limit.to_string(), line.route.to_string());
            (name, (line.enforced, line.observed))
        };
        let lines: BTreeMap<_, _> =
            observer.series().into_iter().filter(|line| !line.is_empty()).map(to_counts).collect();
        let (denied, near) =
            (listed(&observer.denied().list(1_000, now_ms)), listed(&observer.near().list(1_000, now_ms)));
        let actual = Self { requests: observer.requests(), lines, denied, near };
        if actual == *self { Ok(()) } else { Err(format!("seen {actual:#?}\nnot {self:#?}")) }
    }
}

/// Who is in a list.
pub(crate) fn listed(list: &TopList) -> BTreeMap<(String, String), u64> {
    let entries = list.entries.iter().map(|entry| {
        let parts = entry
            .subject
            .iter()
            .map(|part| format!("{}={}", part.attribute, part.value.as_deref().unwrap_or("-")));
        ((entry.rule.to_string(), parts.collect::<Vec<_>>().join(" ")), entry.count)
    });
    entries.collect()
}
