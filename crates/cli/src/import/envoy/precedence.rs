//! Precedence of sibling descriptors.

use super::config::{DescriptorNode, ValuePattern};
use crate::policy_writer::ValueTest;

/// The converted siblings that take values from a descriptor: those with an exact value, and
/// earlier wildcards. `None` means that the descriptor has no values left.
pub(super) fn before(
    siblings: &[DescriptorNode],
    index: usize,
    is_converted: impl Fn(&DescriptorNode) -> bool,
) -> Option<Vec<&DescriptorNode>> {
    let own = &siblings[index];
    let mut first: Vec<&DescriptorNode> = Vec::new();
    for (other_index, other) in siblings.iter().enumerate() {
        if other_index == index || other.key != own.key {
            continue;
        }
        let comes_first = match (&own.value, &other.value) {
            (ValuePattern::Exact(_), _) | (_, ValuePattern::Any) => false,
            (ValuePattern::Prefix(own), ValuePattern::Exact(value)) => value.starts_with(own),
            (ValuePattern::Prefix(own), ValuePattern::Prefix(other)) if other_index < index => {
                if own.starts_with(other) {
                    return None;
                }
                other.starts_with(own)
            }
            (ValuePattern::Prefix(_), ValuePattern::Prefix(_)) => false,
            (ValuePattern::Any, ValuePattern::Prefix(other)) if other.is_empty() => return None,
            (ValuePattern::Any, _) => true,
        };
        if comes_first && is_converted(other) {
            first.push(other);
        }
    }
    let wildcards: Vec<&str> = first.iter().filter_map(|other| prefix(other)).collect();
    let is_within = |other: &&DescriptorNode| match &other.value {
        ValuePattern::Exact(value) => wildcards.iter().any(|prefix| value.starts_with(prefix)),
        ValuePattern::Prefix(value) => {
            wildcards.iter().any(|prefix| value.len() > prefix.len() && value.starts_with(prefix))
        }
        ValuePattern::Any => false,
    };
    Some(first.into_iter().filter(|other| !is_within(other)).collect())
}

/// The sibling to which the values of a descriptor fall if it is omitted: the first wildcard for
/// all of them, or the key alone.
pub(super) fn next(
    siblings: &[DescriptorNode],
    index: usize,
    is_converted: impl Fn(&DescriptorNode) -> bool,
) -> Option<&DescriptorNode> {
    let own = &siblings[index];
    let has_all = |other: &ValuePattern| match (&own.value, other) {
        (ValuePattern::Exact(own) | ValuePattern::Prefix(own), ValuePattern::Prefix(other)) => {
            own.starts_with(other)
        }
        (own, ValuePattern::Any) => *own != ValuePattern::Any,
        _ => false,
    };
    let others = siblings.iter().enumerate().filter(|(other_index, other)| {
        *other_index != index
            && other.key == own.key
            && has_all(&other.value)
            && is_converted(other)
            && before(siblings, *other_index, |_| false).is_some()
    });
    others.map(|(_, other)| other).min_by_key(|other| other.value == ValuePattern::Any)
}

fn prefix(descriptor: &DescriptorNode) -> Option<&str> {
    match &descriptor.value {
        ValuePattern::Prefix(prefix) => Some(prefix),
        _ => None,
    }
}

/// Tests of one attribute as alternatives: a list of values and a list of prefixes.
pub(super) fn alternatives(name: &str, tests: impl Iterator<Item = ValueTest>) -> Vec<(String, ValueTest)> {
    let (mut values, mut prefixes) = (Vec::new(), Vec::new());
    for test in tests {
        match test {
            ValueTest::Is(texts) => values.extend(texts),
            ValueTest::Prefix(texts) => prefixes.extend(texts),
        }
    }
    let mut all = Vec::new();
    if !values.is_empty() {
        all.push((name.to_owned(), ValueTest::Is(values)));
    }
    if !prefixes.is_empty() {
        all.push((name.to_owned(), ValueTest::Prefix(prefixes)));
    }
    all
}
