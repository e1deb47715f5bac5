//! What the explanation of a request says is what decides it, and the conditions that it names are those that matter.

use std::cell::Cell;

use slidegate::policy::file::{Conditions, File, RuleEntry, Test};
use slidegate::policy::{
    Choice, FailedCondition, HitMode, Policy, RequestExplanation, Requirement, RuleEffect, RuleExplanation,
};
use slidegate::{Request, RequestError};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::policies::{Attributes, attributes, file, request};

fn compiled(file: &File) -> Policy {
    Policy::compile(file.clone()).unwrap_or_else(|errors| panic!("{errors}\n{file:?}"))
}

fn generate(rng: &Rng) -> (File, Vec<Attributes>) {
    (file(rng), (0..12).map(|_| attributes(rng)).collect())
}

/// Rules whose limits or dry runs a request gets.
fn applies(rule: &RuleExplanation) -> bool {
    use RuleEffect::{Limited, Observed, WouldDenyListed, WouldLackKey};
    matches!(rule.effect, Limited | Observed | WouldDenyListed | WouldLackKey)
}

fn agrees(policy: &Policy, request: &Request<'_>, explanation: &RequestExplanation) -> Result<(), String> {
    let names = |indexes: Vec<usize>| -> Vec<String> {
        indexes.into_iter().map(|index| policy.rules()[index].name().to_owned()).collect()
    };
    match policy.choose(request) {
        Ok(Choice::Hits(hits)) => {
            let explained: Vec<_> = explanation.rules.iter().filter(|rule| applies(rule)).collect();
            let chosen = names(hits.iter().map(|hit| hit.rule).collect());
            let same = explained.iter().map(|rule| &rule.rule).eq(&chosen);
            ensure!(same, "{explained:?} explained, {chosen:?} chosen");
            ensure!(explanation.blocked_by.is_none() && explanation.error.is_none(), "{explanation:?}");
            for (hit, explained) in hits.iter().zip(explained) {
                let rule = &policy.rules()[hit.rule];
                let enforced = explained.mode.as_ref().map(|mode| mode.enforced);
                ensure!(enforced == Some(hit.mode == HitMode::Enforce), "{hit:?}: {explained:?}");
                let texts = rule.limit_sets()[hit.limit_set].texts();
                let Some(set) = &explained.limit_set else {
                    ensure!(hit.would_block.is_some(), "{hit:?}: {explained:?}");
                    continue;
                };
                ensure!(
                    set.limits.iter().map(|limit| &*limit.limit).eq(texts.iter().map(|text| &**text)),
                    "{set:?}"
                );
                ensure!(set.applies_to == rule.applies_to(hit.limit_set), "{hit:?}: {set:?}");
                let parts = rule.subject_of(&hit.key);
                let same =
                    explained.key.iter().map(|part| &part.value).eq(parts.iter().map(|part| &part.value));
                ensure!(same, "{parts:?}: {:?}", explained.key);
                let lacks = explained.key.iter().any(|part| part.attribute.is_none());
                ensure!(lacks == hit.lacks_key, "{hit:?}: {explained:?}");
            }
        }
        Ok(Choice::Blocked { rule, .. }) => {
            let blocks =
                |rule: &RuleExplanation| matches!(rule.effect, RuleEffect::DenyListed | RuleEffect::LacksKey);
            ensure!(explanation.rules.iter().position(blocks) == Some(rule), "{explanation:?}");
            ensure!(explanation.blocked_by == names(vec![rule]).pop(), "{explanation:?}");
        }
        Err(error) => {
            ensure!(explanation.error == Some(error.to_string()), "{explanation:?}");
            let invalid = explanation.rules.iter().any(|rule| rule.effect == RuleEffect::Invalid);
            ensure!(invalid || matches!(error, RequestError::TooManyLimits { .. }), "{explanation:?}");
        }
    }
    Ok(())
}

#[test]
fn it_explains_what_is_decided() {
    let effects = [const { Cell::new(0) }; 10];
    prove(generate, |file, requests| {
        let policy = compiled(file);
        for attributes in requests {
            let request = request(attributes);
            let explanation = policy.explain_request(&request).map_err(|error| error.to_string())?;
            agrees(&policy, &request, &explanation).map_err(|why| format!("{attributes:?}: {why}"))?;
            for rule in &explanation.rules {
                let count = &effects[rule.effect as usize];
                count.set(count.get() + 1);
            }
        }
        Ok(())
    });
    assert!(effects.iter().all(|count| count.get() > 0), "not everything came up: {effects:?}");
}

/// Value that meets a condition.
fn witness(failed: &FailedCondition) -> String {
    let (Requirement::Is(values) | Requirement::StartsWith(values)) = &failed.requirement;
    let value = &values[0];
    match &*failed.attribute {
        "ip" => value.split('/').next().unwrap_or_default().to_owned(),
        "path" => value
            .split('/')
            .map(|part| if part.starts_with('{') { "7" } else { part })
            .collect::<Vec<_>>()
            .join("/"),
        _ => value.clone(),
    }
}

/// Whether its conditions are independent of each other: no two on one attribute, and none on a path parameter.
fn is_independent(Conditions(all): &Conditions) -> bool {
    let has_path = all.iter().any(|condition| condition.attribute == "path");
    all.iter().enumerate().all(|(index, condition)| {
        let is_parameter = has_path && matches!(&*condition.attribute, "id" | "user");
        let is_first = all[..index].iter().all(|other| other.attribute != condition.attribute);
        let (Test::Is(values) | Test::Prefix(values)) = &condition.test;
        is_first && !is_parameter && !values.is_empty()
    })
}

/// The request with the attributes of some conditions set to what they require.
fn corrected(attributes: &Attributes, failed: &[&FailedCondition]) -> Request<'static> {
    // The first of a name applies.
    let request = failed
        .iter()
        .fold(Request::new(), |request, failed| request.with(failed.attribute.clone(), witness(failed)));
    attributes.iter().fold(request, |request, (name, value)| request.with(*name, *value))
}

fn effect(policy: &Policy, request: &Request<'_>, rule: &RuleEntry) -> RuleEffect {
    let explanation = policy.explain_request(request).expect("a path with few readings");
    let name = rule.name.value.as_deref();
    let rule = explanation.rules.iter().find(|explained| Some(&*explained.rule) == name);
    rule.expect("the rule is explained").effect
}

/// Changing all the values that are named makes the rule match; changing all but one does not.
#[test]
fn the_conditions_that_are_named_are_those_that_fail() {
    let corrections = Cell::new(0);
    prove(generate, |file, requests| {
        let policy = compiled(file);
        for attributes in requests {
            let sample = request(attributes);
            let explanation = policy.explain_request(&sample).map_err(|error| error.to_string())?;
            for (rule, explained) in file.rules.iter().zip(&explanation.rules) {
                let failed: Vec<&FailedCondition> = explained.failed.iter().collect();
                ensure!(failed.is_empty() == (explained.effect != RuleEffect::NoMatch), "{explained:?}");
                if failed.is_empty() || !is_independent(&rule.matches) {
                    continue;
                }
                let all = effect(&policy, &corrected(attributes, &failed), rule);
                ensure!(all != RuleEffect::NoMatch, "{attributes:?}: {failed:?} is not enough");
                for left_out in 0..failed.len() {
                    let mut others = failed.clone();
                    let one = others.remove(left_out);
                    let effect = effect(&policy, &corrected(attributes, &others), rule);
                    let fails = matches!(effect, RuleEffect::NoMatch | RuleEffect::Invalid);
                    ensure!(fails, "{attributes:?}: {one:?} does not fail");
                    let sent = sample.get(&one.attribute);
                    ensure!(one.value.as_deref() == sent, "{one:?} is not {sent:?}");
                }
                corrections.set(corrections.get() + 1);
            }
        }
        Ok(())
    });
    assert!(corrections.get() > 0, "nothing was corrected");
}
