//! What tests of top lists have in common.

use std::collections::HashMap;
use std::sync::Arc;

use slidegate::policy::KeyText;
use slidegate::telemetry::{SubjectNaming, TopList};
use slidegate::{Key, Space};
use slidegate_testkit::ensure;

pub(crate) const START_MS: u64 = 1_745_000_100_000;

pub(crate) fn naming(rule: &str) -> Arc<SubjectNaming> {
    let show = |key: &Key<'_>| {
        // A key of one part is shown by its bytes; that is all that these tests use.
        let text = format!("{key:?}");
        vec![KeyText { attribute: "user".to_owned(), value: Some(text) }]
    };
    Arc::new(SubjectNaming::new(rule, Space::named(rule), show))
}

/// A list by whom it names.
pub(crate) fn by_name(list: &TopList) -> HashMap<&str, (u64, u64)> {
    let of = |entry: &'_ slidegate::telemetry::TopEntry| (entry.count, entry.error);
    let named =
        list.entries.iter().map(|entry| (entry.subject[0].value.as_deref().expect("a value"), of(entry)));
    named.collect()
}

pub(crate) fn name(subject: u64) -> String {
    format!("{:?}", Key::from(subject))
}

/// What every list has to keep, whatever was counted. Subjects are numbers.
pub(crate) fn holds(list: &TopList, most: usize, exact: &HashMap<u64, u64>) -> Result<(), String> {
    let named = by_name(list);
    ensure!(named.len() == list.entries.len(), "somebody is named twice: {list:?}");
    ensure!(list.entries.len() <= most, "{} of {most}", list.entries.len());
    ensure!(list.entries.is_sorted_by(|one, other| one.count >= other.count), "not in order: {list:?}");
    ensure!(list.total == exact.values().sum::<u64>(), "{} in all, not {exact:?}", list.total);
    let mut found = 0;
    for (subject, &times) in exact {
        match named.get(name(*subject).as_str()) {
            Some(&(count, error)) => {
                found += 1;
                ensure!(count - error <= times && times <= count, "{subject}: {times}, {count} - {error}");
            }
            None => ensure!(times <= list.bound, "{subject} is missing with {times}, bound {}", list.bound),
        }
    }
    // Who was never counted is never named.
    ensure!(found == named.len(), "{found} of {}", named.len());
    Ok(())
}
