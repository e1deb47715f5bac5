//! Exceptions that hold for a while change what they say, and nothing else.

use serde_json::{Map, Value, json};
use slidegate::policy::file::{Condition, Conditions, File, OverrideEntry, Test};
use slidegate::policy::{Choice, Policy, TemporaryOverride};
use slidegate::{CheckRequest, Gate, ManualClock, Memory, Request};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::policies::{Attributes, attributes, conditions, file, limits, naive, request};

fn compiled(file: &File) -> Policy {
    Policy::compile(file.clone()).unwrap_or_else(|errors| panic!("{errors}\n{file:?}"))
}

fn parsed(text: &str) -> Policy {
    Policy::parse("test.yaml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn exception(json: &Value) -> TemporaryOverride {
    TemporaryOverride::parse(&json.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn no_exceptions_are_no_change() {
    let generate = |rng: &Rng| (file(rng), (0..12).map(|_| attributes(rng)).collect::<Vec<Attributes>>());
    prove(generate, |file, requests| {
        let policy = compiled(file);
        let same = policy.with(&[]).map_err(|errors| errors.to_string())?;
        ensure!(policy.diff(&same).is_empty(), "{:?}", policy.diff(&same));
        ensure!(policy.explain() == same.explain(), "they explain themselves differently");
        for attributes in requests {
            let request = request(attributes);
            ensure!(policy.choose(&request) == same.choose(&request), "{attributes:?}");
        }
        Ok(())
    });
}

#[derive(Clone, Copy, Debug)]
enum Effect {
    Limits,
    Allow,
    Deny,
}

/// What is written in front of a rule's own lists does the same: a naive reading of that file is
/// what is expected.
#[test]
fn exceptions_are_as_if_written_first() {
    let generate = |rng: &Rng| {
        let file = file(rng);
        let exceptions = (0..rng.between(1, 4)).map(|_| {
            let mut when = conditions(rng, 0);
            // A mapping has every name once.
            let mut names = std::collections::HashSet::new();
            when.0.retain(|condition| names.insert(condition.attribute.clone()));
            let effect = rng.pick(&[Effect::Limits, Effect::Limits, Effect::Allow, Effect::Deny]);
            (rng.below(file.rules.len().max(1) as u64) as usize, when, effect)
        });
        let exceptions = exceptions.collect::<Vec<_>>();
        ((file, exceptions), (0..12).map(|_| attributes(rng)).collect::<Vec<Attributes>>())
    };
    prove(generate, |(file, exceptions), requests| {
        if file.rules.is_empty() {
            return Ok(());
        }
        let overrides: Vec<TemporaryOverride> = exceptions
            .iter()
            .map(|(rule, when, effect)| {
                let name = file.rules[*rule].name.value.clone();
                let (field, value) = match effect {
                    Effect::Limits => ("limits", json!(["77/h"])),
                    Effect::Allow => ("allow", json!(true)),
                    Effect::Deny => ("deny", json!(true)),
                };
                exception(&json!({ "rule": name, "when": written(when), field: value }))
            })
            .collect();
        let mut expected = file.clone();
        for (rule, when, effect) in exceptions.iter().rev() {
            let rule = &mut expected.rules[*rule];
            match effect {
                Effect::Limits => {
                    rule.overrides.insert(0, OverrideEntry { when: when.clone(), limits: limits(&["77/h"]) });
                }
                Effect::Allow => rule.allow.insert(0, when.clone()),
                Effect::Deny => rule.deny.insert(0, when.clone()),
            }
        }
        let policy = compiled(file).with(&overrides).map_err(|errors| errors.to_string())?;
        for attributes in requests {
            let request = request(attributes);
            let (found, expected) = (policy.choose(&request), naive::choose(&expected, &request));
            ensure!(found == expected, "{attributes:?}: {found:?}, expected {expected:?}");
        }
        Ok(())
    });
}

/// Conditions as JSON.
fn written(Conditions(all): &Conditions) -> Value {
    let each = all.iter().map(|Condition { attribute, test, .. }| {
        let values = |spots: &[_]| -> Vec<Value> {
            spots.iter().map(|spot: &slidegate::policy::file::Spanned<String>| json!(spot.value)).collect()
        };
        let value = match test {
            Test::Is(spots) => json!(values(spots)),
            Test::Prefix(spots) => json!({ "prefix": values(spots) }),
        };
        (attribute.clone(), value)
    });
    Value::Object(each.collect::<Map<_, _>>())
}

const POLICY: &str = "
version: 1
rules:
  - name: search
    match: { path: /search }
    key: [user]
    limits: [2/h]
    overrides: [{ when: { user: bob }, limits: [3/h] }]
    tiers: { gold: [4/h] }
    allow: [{ user: root }]
    deny: [{ user: mallory }]
  - { name: all, limits: [100/h] }
";

/// Which quota a user has under the rule `search`; `None`: no limit of it applies, 0: refused at
/// once.
fn quota(policy: &Policy, user: &str, tier: &str) -> Option<u64> {
    let request = Request::new().with("path", "/search").with("user", user).with("tier", tier);
    match policy.choose(&request).expect("a good request") {
        Choice::Blocked { .. } => Some(0),
        Choice::Hits(hits) => {
            let hit = hits.iter().find(|hit| hit.rule == 0)?;
            Some(policy.rules()[0].limit_sets()[hit.limit_set].limits()[0].quota())
        }
    }
}

#[test]
fn what_goes_before_what() {
    let all = |effect: Value| {
        let mut all = json!({ "rule": "search", "when": {} });
        all.as_object_mut().expect("an object").extend(effect.as_object().expect("an object").clone());
        exception(&all)
    };
    let limited = || all(json!({ "limits": ["50/h"] }));
    let (allowed, denied) = (|| all(json!({ "allow": true })), || all(json!({ "deny": true })));
    let users = [("eve", ""), ("bob", ""), ("eve", "gold"), ("root", ""), ("mallory", "")];
    let rows: [(Vec<TemporaryOverride>, [Option<u64>; 5]); 6] = [
        (vec![], [Some(2), Some(3), Some(4), None, Some(0)]),
        // Before overrides and tiers, but not before the lists of the file.
        (vec![limited()], [Some(50), Some(50), Some(50), None, Some(0)]),
        // What the file denies stays denied.
        (vec![allowed()], [None, None, None, None, Some(0)]),
        (vec![denied()], [Some(0); 5]),
        (vec![allowed(), denied()], [Some(0); 5]),
        (vec![limited(), allowed()], [None, None, None, None, Some(0)]),
    ];
    for (exceptions, expected) in rows {
        let policy = parsed(POLICY).with(&exceptions).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(users.map(|(user, tier)| quota(&policy, user, tier)), expected, "{exceptions:?}");
    }
    let first = exception(&json!({ "rule": "search", "when": { "user": "eve" }, "limits": ["60/h"] }));
    let policy = parsed(POLICY).with(&[first, limited()]).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((quota(&policy, "eve", ""), quota(&policy, "bob", "")), (Some(60), Some(50)));
}

/// A quota that is raised counts on what was recorded before, and so does the old one when it is
/// back.
#[tokio::test]
async fn history_survives() {
    let gate = Gate::new(parsed(POLICY), Memory::default()).clock(ManualClock::new(1_745_000_000_000));
    let ask = || CheckRequest::from(Request::new().with("path", "/search").with("user", "eve"));
    let remaining = async || gate.check(&ask()).await.expect("memory").verdict().decisions[0].remaining;
    assert_eq!((remaining().await, remaining().await, remaining().await), (1, 0, 0));
    let more = exception(&json!({ "rule": "search", "when": { "user": "eve" }, "limits": ["5/h"] }));
    gate.replace(parsed(POLICY).with(&[more]).expect("it fits"));
    assert_eq!(remaining().await, 2);
    gate.replace(parsed(POLICY));
    assert_eq!(remaining().await, 0);
}

#[test]
fn what_does_not_fit_is_left_out() {
    let policy = parsed(POLICY);
    let fits = exception(&json!({ "rule": "search", "when": { "user": "eve" }, "limits": ["5/h"] }));
    let gone = exception(&json!({ "rule": "serach", "when": {}, "deny": true }));
    let wrong = exception(&json!({ "rule": "search", "when": { "ip": "10.0.0.0/99" }, "allow": true }));
    let (with, outcomes) = policy.with_each(&[gone.clone(), fits, wrong]);
    let outcomes: Vec<Option<String>> = outcomes
        .iter()
        .map(|outcomes| {
            outcomes.as_ref().err().map(|errors| errors.iter().map(|error| error.message.clone()).collect())
        })
        .collect();
    assert_eq!(outcomes[0].as_deref(), Some("unknown rule `serach`"));
    assert_eq!(outcomes[1], None);
    assert!(outcomes[2].as_deref().is_some_and(|outcomes| outcomes.contains("10.0.0.0/99")), "{outcomes:?}");
    assert_eq!(quota(&with, "eve", ""), Some(5));
    assert!(policy.with(&[gone]).is_err());
}

/// Text, and a part of what is said of it.
#[test]
fn errors_name_their_cause() {
    let rows = [
        ("", "empty"),
        ("[]", "expected a mapping, found a list"),
        (r#"{"when":{},"deny":true}"#, "missing field `rule`"),
        (r#"{"rule":"a","deny":true}"#, "missing field `when`"),
        (r#"{"rule":"a","when":{}}"#, "missing field `limits`, `allow` or `deny`"),
        (r#"{"rule":"a","when":{},"deny":true,"allow":true}"#, "cannot be combined"),
        (r#"{"rule":"a","when":{},"limits":["1/s"],"allow":true}"#, "cannot be combined"),
        (r#"{"rule":"a","when":{},"deny":false}"#, "only `true` is allowed"),
        (r#"{"rule":"a","when":{},"allow":"yes"}"#, "expected `true` or `false`, found `yes`"),
        (r#"{"rule":"a","when":{},"limits":["1/fortnight"]}"#, "invalid limit `1/fortnight`"),
        (r#"{"rule":"a","when":{},"limit":["1/s"]}"#, "unknown field `limit`"),
        (r#"{"rule":"a","when":{"user":[]},"deny":true}"#, "has no values"),
        (r#"{"rule":"a","when":"alice","deny":true}"#, "expected a mapping, found `alice`"),
    ];
    for (text, expected) in rows {
        let errors = TemporaryOverride::parse(text).expect_err(text);
        assert!(errors.iter().any(|error| error.message.contains(expected)), "{text}: {errors}");
    }
    let empty = exception(&json!({ "rule": "search", "when": {}, "limits": [] }));
    assert!(parsed(POLICY).with(&[empty]).is_err());
}

#[test]
fn an_override_is_described_in_a_line() {
    let rows = [
        (json!({ "rule": "a", "when": {}, "deny": true }), "rule a, all requests: deny"),
        (
            json!({ "rule": "a", "when": { "user": ["x", "y"] }, "allow": true }),
            "rule a, where user is x or y: allow",
        ),
        (
            json!({ "rule": "a", "when": { "path": { "prefix": "/v1" } }, "limits": ["5/min", "9/h"] }),
            "rule a, where path starts with /v1: limits 5/min, 9/h",
        ),
    ];
    for (json, expected) in rows {
        assert_eq!(exception(&json).to_string(), expected);
        assert_eq!(exception(&json).text(), json.to_string());
    }
}
