//! Which descriptors come before another of the same list, and which one behind it.

use super::super::policy_writer::Test;
use super::config::{Descriptor, Value};

/// The siblings that take values away from a descriptor, of those that are not left out: those with the value itself, wildcards that
/// come first. `None`: nothing is left to it.
pub(super) fn before(
    siblings: &[Descriptor],
    index: usize,
    is_there: impl Fn(&Descriptor) -> bool,
) -> Option<Vec<&Descriptor>> {
    let own = &siblings[index];
    let mut first: Vec<&Descriptor> = Vec::new();
    for (other_index, other) in siblings.iter().enumerate() {
        if other_index == index || other.key != own.key {
            continue;
        }
        let comes_first = match (&own.value, &other.value) {
            (Value::Exact(_), _) | (_, Value::Any) => false,
            (Value::Prefix(own), Value::Exact(value)) => value.starts_with(own),
            (Value::Prefix(own), Value::Prefix(other)) if other_index < index => {
                if own.starts_with(other) {
                    return None;
                }
                other.starts_with(own)
            }
            (Value::Prefix(_), Value::Prefix(_)) => false,
            (Value::Any, Value::Prefix(other)) if other.is_empty() => return None,
            (Value::Any, _) => true,
        };
        if comes_first && is_there(other) {
            first.push(other);
        }
    }
    let wildcards: Vec<&str> = first.iter().filter_map(|other| prefix(other)).collect();
    let is_within = |other: &&Descriptor| match &other.value {
        Value::Exact(value) => wildcards.iter().any(|prefix| value.starts_with(prefix)),
        Value::Prefix(value) => {
            wildcards.iter().any(|prefix| value.len() > prefix.len() && value.starts_with(prefix))
        }
        Value::Any => false,
    };
    Some(first.into_iter().filter(|other| !is_within(other)).collect())
}

/// The sibling that has the values of a descriptor if that is left out: the first wildcard for all of them, or the key alone.
pub(super) fn behind(
    siblings: &[Descriptor],
    index: usize,
    is_there: impl Fn(&Descriptor) -> bool,
) -> Option<&Descriptor> {
    let own = &siblings[index];
    let has_all = |other: &Value| match (&own.value, other) {
        (Value::Exact(own) | Value::Prefix(own), Value::Prefix(other)) => own.starts_with(other),
        (own, Value::Any) => *own != Value::Any,
        _ => false,
    };
    let others = siblings.iter().enumerate().filter(|(other_index, other)| {
        *other_index != index
            && other.key == own.key
            && has_all(&other.value)
            && is_there(other)
            && before(siblings, *other_index, |_| false).is_some()
    });
    others.map(|(_, other)| other).min_by_key(|other| other.value == Value::Any)
}

fn prefix(descriptor: &Descriptor) -> Option<&str> {
    match &descriptor.value {
        Value::Prefix(prefix) => Some(prefix),
        _ => None,
    }
}

/// Tests of one attribute of which any may hold: a list of values and a list of prefixes.
pub(super) fn together(name: &str, tests: impl Iterator<Item = Test>) -> Vec<(String, Test)> {
    let (mut values, mut prefixes) = (Vec::new(), Vec::new());
    for test in tests {
        match test {
            Test::Is(texts) => values.extend(texts),
            Test::Prefix(texts) => prefixes.extend(texts),
        }
    }
    let mut all = Vec::new();
    if !values.is_empty() {
        all.push((name.to_owned(), Test::Is(values)));
    }
    if !prefixes.is_empty() {
        all.push((name.to_owned(), Test::Prefix(prefixes)));
    }
    all
}
