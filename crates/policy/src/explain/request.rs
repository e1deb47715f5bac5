//! Explanation of what a policy does with one request: for every rule its effect and the reason.
//!
//! The effect is the ruling of the decision path itself. Only the reasons are found here, so that
//! they cost a decision nothing.

use serde::Serialize;

use super::super::condition::Predicates;
use super::super::file;
use super::super::matching::Choice;
use super::super::request_view::{Reading, RequestView, TIER};
use super::super::rule::{Blocked, Enforcement, HitMode, Rule, Ruling};
use super::{LimitReport, conditions, limits, percent};
use crate::Policy;
use crate::request::{Request, RequestError};
use slidegate_store::Key;

mod requirement;

pub use requirement::{FailedCondition, Requirement};
use requirement::{failed_conditions, failed_match};

/// Explanation of what a policy does with a request.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct RequestExplanation {
    /// Name of the first rule that blocks the request: rules after it are not consulted.
    pub blocked_by: Option<String>,
    /// Error of the request: it is refused, whatever the rules say.
    pub error: Option<String>,
    /// Every rule, in the order of the file.
    pub rules: Vec<RuleExplanation>,
}

/// Explanation of what one rule does with a request.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct RuleExplanation {
    /// Name of the rule.
    pub rule: String,
    /// Effect on the request.
    pub effect: RuleEffect,
    /// Conditions of `match` that fail, if the rule does not match.
    pub failed: Vec<FailedCondition>,
    /// Reading of the path that the explanation is about, if the path has several.
    pub reading: Option<String>,
    /// Entries of the deny list.
    pub deny: Vec<ConditionsMatch>,
    /// Entries of the allow list.
    pub allow: Vec<ConditionsMatch>,
    /// Parts of the key, if the rule has one and consults it.
    pub key: Vec<KeyPartMatch>,
    /// Mode for this request.
    pub mode: Option<ModeMatch>,
    /// Limits that apply.
    pub limit_set: Option<LimitSetMatch>,
    /// Error of the request under this rule.
    pub error: Option<String>,
}

/// Effect of a rule on a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Debug)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// Its `match` does not fit.
    NoMatch,
    /// Its limits apply.
    Limited,
    /// Its limits are a dry run: they deny nothing.
    Observed,
    /// The allow list exempts the request.
    Exempt,
    /// The request lacks an attribute of the key, and the rule skips such requests.
    Skipped,
    /// The deny list blocks the request.
    DenyListed,
    /// The request lacks an attribute of the key, and the rule blocks such requests.
    LacksKey,
    /// The deny list would block the request, but the rule is in observe mode.
    WouldDenyListed,
    /// The rule would block the request for lack of an attribute, but is in observe mode.
    WouldLackKey,
    /// The request is invalid for this rule.
    Invalid,
}

/// Conditions of a list, an override or a tier, compared with a request.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct ConditionsMatch {
    /// The conditions in words.
    pub conditions: String,
    /// Those that fail. Empty: the request matches.
    pub failed: Vec<FailedCondition>,
}

/// Part of a key, as a request fills it.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct KeyPartMatch {
    /// The part as in the file: `api_key|ip`.
    pub part: String,
    /// Attribute that is used; `None` if the request has none of them.
    pub attribute: Option<String>,
    /// Its value in canonical form.
    pub value: Option<String>,
    /// Attributes before it that the request lacks.
    pub missing: Vec<String>,
}

/// Mode of a rule for a request.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct ModeMatch {
    /// Whether the rule denies what exceeds its limits.
    pub enforced: bool,
    /// Reason.
    pub reason: ModeReason,
}

/// Reason for a mode.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "snake_case")]
pub enum ModeReason {
    /// The rule has one mode for all requests.
    Always,
    /// The rule is enforced for this share of its keys.
    Share(String),
    /// The rule is enforced for requests that match one of these.
    For(Vec<ConditionsMatch>),
}

/// Limit set of a rule for a request.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct LimitSetMatch {
    /// Requests of the rule that it applies to.
    pub applies_to: String,
    /// Limits.
    pub limits: Vec<LimitReport>,
    /// Overrides and tiers that come before it and do not fit.
    pub others: Vec<ConditionsMatch>,
}

impl Policy {
    /// Explanation of what every rule does with a request. Nothing is charged.
    ///
    /// # Errors
    /// If the path has too many readings.
    pub fn explain_request(&self, request: &Request<'_>) -> Result<RequestExplanation, RequestError> {
        let view = RequestView::new(request, self.paths)?;
        let (blocked_by, error) = match self.choose(request) {
            Ok(Choice::Blocked { rule, .. }) => (Some(self.rules[rule].name().to_owned()), None),
            Ok(Choice::Hits(_)) => (None, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let rules = self.rules.iter().map(|rule| rule.explain_request(&view)).collect();
        Ok(RequestExplanation { blocked_by, error, rules })
    }
}

impl Rule {
    fn explain_request(&self, view: &RequestView<'_, '_>) -> RuleExplanation {
        let explanation = self.explanation(view);
        explanation.unwrap_or_else(|error| RuleExplanation {
            error: Some(error.to_string()),
            ..self.with_effect(RuleEffect::Invalid)
        })
    }

    fn with_effect(&self, effect: RuleEffect) -> RuleExplanation {
        RuleExplanation {
            rule: self.name.to_string(),
            effect,
            failed: Vec::new(),
            reading: None,
            deny: Vec::new(),
            allow: Vec::new(),
            key: Vec::new(),
            mode: None,
            limit_set: None,
            error: None,
        }
    }

    fn explanation(&self, view: &RequestView<'_, '_>) -> Result<RuleExplanation, RequestError> {
        let is_match = view.any(|reading| self.is_for_reading(reading))?;
        let NearestReading { failed, reading } = nearest(view, |reading| failed_match(self, reading))?;
        if !is_match {
            return Ok(RuleExplanation { failed, reading, ..self.with_effect(RuleEffect::NoMatch) });
        }
        let ruling = self.ruling(view)?;
        let is_exempt = matches!(ruling, Ruling::Passes);
        let effect = effect(&ruling);
        let mut explanation = RuleExplanation { reading, ..self.with_effect(effect) };
        explanation.deny = self.entries(&self.deny, &self.entry.deny, view, Quantifier::Any)?;
        if effect == RuleEffect::DenyListed {
            return Ok(explanation);
        }
        explanation.allow = self.entries(&self.allow, &self.entry.allow, view, Quantifier::Every)?;
        if is_exempt {
            return Ok(explanation);
        }
        let subject = self.key.subject(view, &self.templates)?;
        explanation.key = self.key_parts(&subject.key);
        match ruling {
            Ruling::Limits { limit_set, mode, .. } => {
                explanation.mode = Some(self.mode_match(view, mode)?);
                explanation.limit_set = Some(self.limit_set_match(view, limit_set)?);
            }
            Ruling::WouldBlock { .. } => {
                explanation.mode = Some(self.mode_match(view, HitMode::Observe)?);
            }
            Ruling::Blocks(_) | Ruling::Passes | Ruling::Skips => {}
        }
        Ok(explanation)
    }

    /// Entries of a list, each compared with the request.
    fn entries<'w>(
        &self,
        compiled: &[Predicates],
        written: impl IntoIterator<Item = &'w file::Conditions>,
        view: &RequestView<'_, '_>,
        quantifier: Quantifier,
    ) -> Result<Vec<ConditionsMatch>, RequestError> {
        let entries = compiled.iter().zip(written);
        let entries = entries.map(|(predicates, written)| {
            let failed = quantifier.failed(view, |reading| {
                failed_conditions(predicates, &written.0, reading, &self.templates)
            })?;
            Ok(ConditionsMatch { conditions: conditions(written), failed })
        });
        entries.collect()
    }

    fn key_parts(&self, key: &Key<'_>) -> Vec<KeyPartMatch> {
        let parts = self.key.parts.iter().zip(self.key.read(key));
        let parts = parts.map(|(part, text)| {
            let names = part.alternatives.iter().map(|source| source.name().to_owned());
            let used = text.value.is_some().then_some(text.attribute);
            let missing = names.take_while(|name| Some(name) != used.as_ref()).collect();
            KeyPartMatch { part: part.to_string(), attribute: used, value: text.value, missing }
        });
        parts.collect()
    }

    fn mode_match(&self, view: &RequestView<'_, '_>, mode: HitMode) -> Result<ModeMatch, RequestError> {
        let reason = match (&self.mode, &self.entry.mode) {
            (Enforcement::Share(share), _) => ModeReason::Share(percent(*share)),
            (Enforcement::For(list), file::Mode::For(written)) => {
                ModeReason::For(self.entries(list, written, view, Quantifier::Any)?)
            }
            _ => ModeReason::Always,
        };
        Ok(ModeMatch { enforced: mode == HitMode::Enforce, reason })
    }

    /// The overrides before the limit set, and the tiers if no override applies, do not fit.
    fn limit_set_match(
        &self,
        view: &RequestView<'_, '_>,
        index: usize,
    ) -> Result<LimitSetMatch, RequestError> {
        let written = self.entry.overrides.iter().map(|other| &other.when);
        let is_override = (1..=self.overrides.len()).contains(&index);
        let before = if is_override { index - 1 } else { self.overrides.len() };
        let mut others = self.entries(&self.overrides[..before], written, view, Quantifier::Every)?;
        if index == 0 {
            let value = view.text(TIER).map(str::to_owned);
            others.extend(self.tiers.iter().map(|tier| {
                let requirement = Requirement::Is(vec![tier.to_string()]);
                let failed =
                    FailedCondition { attribute: TIER.to_owned(), value: value.clone(), requirement };
                ConditionsMatch { conditions: format!("tier is {tier}"), failed: vec![failed] }
            }));
        }
        let (applies_to, limits) = (self.applies_to(index), limits(&self.limit_sets[index]));
        Ok(LimitSetMatch { applies_to, limits, others })
    }
}

fn effect(ruling: &Ruling<'_>) -> RuleEffect {
    match ruling {
        Ruling::Passes => RuleEffect::Exempt,
        Ruling::Skips => RuleEffect::Skipped,
        Ruling::Blocks(Blocked::DenyList) => RuleEffect::DenyListed,
        Ruling::Blocks(Blocked::MissingKey) => RuleEffect::LacksKey,
        Ruling::WouldBlock { reason: Blocked::DenyList, .. } => RuleEffect::WouldDenyListed,
        Ruling::WouldBlock { reason: Blocked::MissingKey, .. } => RuleEffect::WouldLackKey,
        Ruling::Limits { mode: HitMode::Enforce, .. } => RuleEffect::Limited,
        Ruling::Limits { mode: HitMode::Observe, .. } => RuleEffect::Observed,
    }
}

/// Number of readings of the path that have to match.
#[derive(Clone, Copy)]
enum Quantifier {
    /// One: for what limits or denies.
    Any,
    /// All: for what exempts or selects.
    Every,
}

impl Quantifier {
    /// Conditions that fail by the reading that decides.
    fn failed(
        self,
        view: &RequestView<'_, '_>,
        failed: impl Fn(&Reading<'_, '_, '_>) -> Vec<FailedCondition>,
    ) -> Result<Vec<FailedCondition>, RequestError> {
        match self {
            Self::Any => nearest(view, failed).map(|nearest| nearest.failed),
            Self::Every => {
                let mut decisive = Vec::new();
                view.every(|reading| {
                    decisive = failed(reading);
                    Ok(decisive.is_empty())
                })?;
                Ok(decisive)
            }
        }
    }
}

/// Reading of a path by which the fewest conditions fail.
struct NearestReading {
    failed: Vec<FailedCondition>,
    /// The path, if it has several readings.
    reading: Option<String>,
}

fn nearest(
    view: &RequestView<'_, '_>,
    failed: impl Fn(&Reading<'_, '_, '_>) -> Vec<FailedCondition>,
) -> Result<NearestReading, RequestError> {
    let mut nearest = None::<NearestReading>;
    view.any(|reading| {
        let failed = failed(reading);
        let matches = failed.is_empty();
        if nearest.as_ref().is_none_or(|nearest| failed.len() < nearest.failed.len()) {
            let path = reading.path.filter(|_| !view.is_single());
            let reading = path.map(|path| format!("/{}", String::from_utf8_lossy(&path.text())));
            nearest = Some(NearestReading { failed, reading });
        }
        Ok(matches)
    })?;
    Ok(nearest.expect("a request has at least one reading"))
}
