//! Which descriptors come before another of the same list.

use super::super::written::Test;
use super::config::{Descriptor, Value};

/// The siblings that take values away from a descriptor: those with the value itself, wildcards that come first. `None`: nothing is
/// left to it.
pub(super) fn before(siblings: &[Descriptor], index: usize) -> Option<Vec<&Descriptor>> {
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
        if comes_first {
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
