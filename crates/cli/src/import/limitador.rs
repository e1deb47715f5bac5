//! Converter for Limitador: limits with conditions and variables become rules with conditions and
//! keys.

use std::collections::{BTreeSet, HashMap};

use miette::Report;
use slidegate::policy::file::Span;
use slidegate::store::MAX_LIMITS;
use slidegate::{MAX_QUOTA, MAX_WINDOW_MS};

use super::WindowOption;
use super::attribute;
use super::comments::{origin, preamble};
use super::source::SourceFile;
use super::warnings::Warnings;
use crate::policy_writer::names::RuleNames;
use crate::policy_writer::{PolicyDraft, PolicyItem, Quota, RuleDraft, ValueTest, WindowKind};

mod condition;
mod limits;
mod token;
mod translate;

use limits::LimitadorLimit;
use translate::Translation;

const MEANING: [&str; 3] = [
    "A namespace is the attribute `domain` of a request: the domain of Envoy's calls; over POST /v1/check the caller sets it.",
    "`descriptors[0].user` is the attribute `user`: each descriptor of a call is a separate request.",
    "A limit does not count a request that lacks one of its variables (`missing: skip`); an empty value is absent.",
];
const FIXED_WINDOWS: [&str; 2] = [
    "Windows are aligned to the clock; in Limitador they start with the first request. Both admit up to twice the quota",
    "around their edges. For sliding windows remove `algorithm: fixed`, or convert with --sliding.",
];
const SLIDING_WINDOWS: [&str; 2] = [
    "Windows slide; in Limitador they start with the first request and admit up to twice the quota around their",
    "edges.",
];
const BY_HAND: &str =
    "the policy has it as a comment: express the condition differently, or test it in the client";

pub(super) fn convert(
    source: &SourceFile,
    windows: WindowOption,
    warnings: &mut Warnings,
) -> Result<PolicyDraft, Report> {
    let limits = limits::read(source, warnings)?;
    let mut groups = RuleGroups {
        source,
        window: if windows == WindowOption::Sliding { WindowKind::Sliding } else { WindowKind::Fixed },
        names: RuleNames::default(),
        notes: BTreeSet::new(),
        rule_index: HashMap::new(),
        limit_counts: HashMap::new(),
        items: Vec::new(),
    };
    for limit in &limits {
        groups.add(limit, warnings);
    }
    let windows = if windows == WindowOption::Sliding { SLIDING_WINDOWS } else { FIXED_WINDOWS };
    let mut preamble = preamble("limitador", &source.name, &[&MEANING[..], &windows].concat());
    preamble.extend(groups.notes);
    Ok(PolicyDraft { preamble, items: groups.items })
}

/// Rules: limits of one namespace with the same conditions and variables form one.
struct RuleGroups<'s> {
    source: &'s SourceFile,
    window: WindowKind,
    names: RuleNames,
    notes: BTreeSet<String>,
    /// Index of a group's rule among the items.
    rule_index: HashMap<String, usize>,
    /// Number of limits of a namespace: that many may apply to one request.
    limit_counts: HashMap<String, usize>,
    items: Vec<PolicyItem>,
}

impl RuleGroups<'_> {
    fn add(&mut self, limit: &LimitadorLimit, warnings: &mut Warnings) {
        let mut translation = translate::translate(limit, warnings);
        let seconds = limit.seconds;
        if seconds == 0 || seconds > MAX_WINDOW_MS / 1_000 {
            let why = format!("a window must have 1 to {} seconds, not {seconds}", MAX_WINDOW_MS / 1_000);
            translation.failures.push((limit.at, why));
        }
        self.notes.append(&mut translation.notes);
        let line = self.source.line(limit.at);
        let what = format!("{} in {seconds} s", limit.max_value);
        let mut comment =
            origin(&limit.name.as_deref().map_or(what.clone(), |name| format!("{name}: {what}")), line);
        let most = limit.max_value.min(MAX_QUOTA);
        if most < limit.max_value {
            comment.push_str(", which exceeds the largest quota");
        }
        let quota = Quota { count: most, window_ms: seconds * 1_000, window: self.window };
        if !translation.failures.is_empty() {
            return self.omit(limit, translation, quota, &comment, warnings);
        }
        self.count(limit, warnings);
        match self.rule_index.get(&translation.signature()) {
            Some(index) => self.join(*index, quota, comment),
            None => {
                self.rule_index.insert(translation.signature(), self.items.len());
                let rule = self.rule(limit, translation, quota, comment);
                self.items.push(PolicyItem::Rule(rule));
            }
        }
    }

    fn count(&mut self, limit: &LimitadorLimit, warnings: &mut Warnings) {
        let limits = self.limit_counts.entry(limit.namespace.clone()).or_default();
        *limits += 1;
        if *limits == MAX_LIMITS + 1 {
            let what = format!(
                "the namespace has more than {MAX_LIMITS} limits, but at most {MAX_LIMITS} can apply to one request"
            );
            let remedy = "make sure that their conditions exclude each other: a request to which more apply is an error";
            warnings.warn(limit.at, what, remedy);
        }
    }

    fn rule(
        &mut self,
        limit: &LimitadorLimit,
        translation: Translation,
        quota: Quota,
        comment: String,
    ) -> RuleDraft {
        let own = limit.name.clone().unwrap_or_else(|| translation.summary());
        let mut rule = RuleDraft {
            comments: vec![comment],
            name: self.names.unique(&format!("{}-{own}", limit.namespace)),
            matches: vec![("domain".to_owned(), ValueTest::Is(vec![limit.namespace.clone()]))],
            skip_missing: !translation.key.is_empty(),
            key: translation.key,
            limits: vec![quota],
            allow: translation.allow,
            observe: false,
        };
        rule.matches.extend(translation.matches);
        deny_if_quota_is_zero(&mut rule);
        rule
    }

    /// Adds a limit to a rule. Of two limits with the same window the smaller one decides.
    fn join(&mut self, index: usize, quota: Quota, comment: String) {
        let Some(PolicyItem::Rule(rule)) = self.items.get_mut(index) else { return };
        rule.comments.push(comment);
        if rule.limits.is_empty() {
            return;
        }
        match rule.limits.iter_mut().find(|other| other.window_ms == quota.window_ms) {
            Some(other) => other.count = other.count.min(quota.count),
            None => rule.limits.push(quota),
        }
        deny_if_quota_is_zero(rule);
    }

    fn omit(
        &mut self,
        limit: &LimitadorLimit,
        translation: Translation,
        quota: Quota,
        comment: &str,
        warnings: &mut Warnings,
    ) {
        let failures: Vec<(Span, String)> = translation.failures.clone();
        let mut rule = self.rule(limit, translation, quota, format!("OMITTED: {comment}"));
        for (at, why) in failures {
            rule.comments.push(format!("  {why}."));
            warnings.warn(at, format!("this limit is omitted: {why}"), BY_HAND);
        }
        self.items.push(PolicyItem::Omitted(rule));
    }
}

/// Makes a rule with a quota of 0 deny everything that it matches and that has its key.
fn deny_if_quota_is_zero(rule: &mut RuleDraft) {
    if rule.limits.iter().all(|quota| quota.count > 0) {
        return;
    }
    rule.limits.clear();
    for name in std::mem::take(&mut rule.key) {
        let is_tested = rule.matches.iter().any(|(other, _)| *other == name);
        if !is_tested && let Ok(present) = attribute::test(&name, &attribute::AttributeTest::Present) {
            rule.matches.push((name, present.test));
        }
    }
}
