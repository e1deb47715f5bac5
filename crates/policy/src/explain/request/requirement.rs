//! Conditions that fail for a request, with the value that was there.

use serde::Serialize;

use super::super::super::condition::Predicates;
use super::super::super::file::{Condition, Spanned, Test};
use super::super::super::request_view::{AttributeSource, IP, PATH, Reading};
use super::super::super::rule::Rule;
use super::super::super::subject;
use super::super::super::template::Template;

/// Condition that a request does not meet.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct FailedCondition {
    /// Attribute.
    pub attribute: String,
    /// Value of the request; `None` if it has none.
    pub value: Option<String>,
    /// Values that would match.
    pub requirement: Requirement,
}

/// Values of an attribute that match a condition.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// One of these; of `path` a template, of `ip` an address or a network.
    Is(Vec<String>),
    /// Anything that starts with one of these.
    StartsWith(Vec<String>),
}

impl From<&Test> for Requirement {
    fn from(test: &Test) -> Self {
        let values = |spots: &[Spanned<String>]| spots.iter().filter_map(|spot| spot.value.clone()).collect();
        match test {
            Test::Is(spots) => Self::Is(values(spots)),
            Test::Prefix(spots) => Self::StartsWith(values(spots)),
        }
    }
}

/// Conditions of a rule's `match` that fail by one reading.
pub(super) fn failed_match(rule: &Rule, reading: &Reading<'_, '_, '_>) -> Vec<FailedCondition> {
    let mut others: Vec<_> = rule.entry.matches.0.iter().collect();
    // The templates of a rule are those of the first condition on the path.
    let path =
        others.iter().position(|condition| condition.attribute == PATH).map(|path| others.remove(path));
    let path = path.filter(|_| !subject::is_for(&rule.templates, reading));
    let path = path.map(|path| failed(path, reading, &rule.templates));
    path.into_iter().chain(failed_conditions(&rule.matches, others, reading, &rule.templates)).collect()
}

/// Conditions that fail by one reading.
pub(super) fn failed_conditions<'w>(
    predicates: &Predicates,
    written: impl IntoIterator<Item = &'w Condition>,
    reading: &Reading<'_, '_, '_>,
    templates: &[Template],
) -> Vec<FailedCondition> {
    let mut written: Vec<_> = written.into_iter().collect();
    // As the predicates are.
    written.sort_by_key(|condition| condition.attribute == IP);
    let indexes = predicates.failed(reading, templates);
    indexes.map(|index| failed(written[index], reading, templates)).collect()
}

fn failed(written: &Condition, reading: &Reading<'_, '_, '_>, templates: &[Template]) -> FailedCondition {
    let Condition { attribute, test, .. } = written;
    let value = AttributeSource::new(attribute, templates).value(reading, templates);
    let value = value.map(|value| String::from_utf8_lossy(&value).into_owned());
    FailedCondition { attribute: attribute.clone(), value, requirement: Requirement::from(test) }
}
