//! Dynamic metadata of a response, for Envoy's access log and other filters.

use std::collections::BTreeMap;

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use slidegate::policy::Blocked;
use slidegate::{Answer, LimitAnswer};

/// Metadata: the rules and limits that refuse, those in observe mode that would, and why
/// descriptors are invalid; `None` if there are none.
pub(crate) fn metadata(answer: &Answer, unfit: &[String]) -> Option<Struct> {
    let (mut violated, mut observed) = (Vec::new(), Vec::new());
    for item in answer.items() {
        if let Some((rule, why)) = item.blocked() {
            let reason = match why {
                Blocked::DenyList => "deny_list",
                Blocked::MissingKey => "missing_key",
            };
            add(&mut violated, [("rule", Some(rule)), ("reason", Some(reason))]);
        }
        for limit in item.violated() {
            add(&mut violated, [("rule", limit.rule), ("limit", Some(limit.text))]);
        }
        for limit in item.observed().filter(LimitAnswer::is_violated) {
            add(&mut observed, [("rule", limit.rule), ("limit", Some(limit.text))]);
        }
    }
    let unfit = unfit.iter().map(|why| text(why)).collect();
    fields([("violated", violated), ("observed", observed), ("unfit", unfit)])
}

/// Metadata of a call that is too large to be read.
pub(crate) fn unread(why: &str) -> Option<Struct> {
    fields([("unfit", vec![text(why)])])
}

/// Struct of the lists that are not empty.
fn fields<const N: usize>(lists: [(&str, Vec<Value>); N]) -> Option<Struct> {
    let mut fields = BTreeMap::new();
    for (name, values) in lists {
        if !values.is_empty() {
            fields.insert(name.to_owned(), value(Kind::ListValue(ListValue { values })));
        }
    }
    (!fields.is_empty()).then_some(Struct { fields })
}

/// Adds an entry once, also if several descriptors have it.
fn add(list: &mut Vec<Value>, members: [(&str, Option<&str>); 2]) {
    let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), text(value?))));
    let entry = value(Kind::StructValue(Struct { fields: members.collect() }));
    if !list.contains(&entry) {
        list.push(entry);
    }
}

fn text(text: &str) -> Value {
    value(Kind::StringValue(text.to_owned()))
}

fn value(kind: Kind) -> Value {
    Value { kind: Some(kind) }
}
