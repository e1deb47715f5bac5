//! What top lists call subjects.

use std::collections::HashMap;
use std::sync::Arc;

use slidegate::policy::KeyText;
use slidegate::telemetry::{Subject, SubjectDisplay, SubjectNaming, Subjects, Top};
use slidegate::{Key, Space};

use crate::telemetry::top_k::common::{START_MS, by_name, holds, name, naming};

/// Whoever makes texts of keys is called before anything is counted: if it fails, nothing is left
/// half done.
#[test]
fn nothing_is_shifted_if_a_name_cannot_be_made() {
    let show = |key: &Key<'_>| {
        let text = format!("{key:?}");
        assert!(text.len() < 256, "a key that is too long for this rule");
        vec![KeyText { attribute: "user".to_owned(), value: Some(text) }]
    };
    let (naming, long) =
        (Arc::new(SubjectNaming::new("login", Space::named("login"), show)), "x".repeat(300));
    let add = |top: &Top, key: &Key<'_>| {
        let count = || top.add(Subject { naming: &naming, key }, START_MS);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(count)).is_ok()
    };
    let (top, mut exact) = (Top::new(8), HashMap::new());
    for subject in [1_u64, 2, 1, 3, 1, 2] {
        assert!(!add(&top, &(&*long).into()) && add(&top, &subject.into()));
        *exact.entry(subject).or_default() += 1;
        holds(&top.list(10, START_MS), 10, &exact).expect("a true list");
    }

    // Who takes a place from somebody else is called by its name when it comes again.
    let top = Top::new(1);
    let counted = [1_u64.into(), (&*long).into(), (&*long).into(), 2_u64.into(), 2_u64.into()];
    let counted = counted.map(|key: Key<'_>| add(&top, &key));
    assert_eq!(counted, [true, true, false, true, true]);
    let list = top.list(10, START_MS);
    assert_eq!((list.total, by_name(&list)), (4, HashMap::from([(&*name(2), (4, 2))])));
}

#[test]
fn rules_are_distinct() {
    let (one, other, top) = (naming("login"), naming("search"), Top::new(8));
    for (naming, times) in [(&one, 2), (&other, 1)] {
        (0..times).for_each(|_| top.add(Subject { naming, key: &"alice".into() }, START_MS));
    }
    let list = top.list(8, START_MS);
    let counts: Vec<_> = list.entries.iter().map(|entry| (&*entry.rule, entry.count)).collect();
    assert_eq!(counts, [("login", 2), ("search", 1)]);
}

#[test]
fn long_subjects_are_cut() {
    let show = |_: &Key<'_>| {
        let part =
            |attribute: &str, value: String| KeyText { attribute: attribute.into(), value: Some(value) };
        vec![part("org", "é".repeat(100)), part("user", "é".repeat(200)), part("more", "x".repeat(9))]
    };
    let naming = Arc::new(SubjectNaming::new("login", Space::named("login"), show));
    let top = Top::new(8);
    for key in ["x".repeat(257), "x".repeat(258)] {
        top.add(Subject { naming: &naming, key: &key.into() }, START_MS);
    }
    let list = top.list(8, START_MS);
    assert_eq!(list.entries.len(), 2, "they are told apart by all of their bytes");
    let values: Vec<_> = list.entries[0].subject.iter().filter_map(|text| text.value.clone()).collect();
    assert_eq!(values, ["é".repeat(100), format!("{}…", "é".repeat(26)), "…".to_owned()]);
    assert!(list.entries.iter().all(|entry| entry.cut));
}

/// However many parts a long key has, what is kept of it has a bound.
#[test]
fn few_parts_of_a_long_subject_remain() {
    let show = |_: &Key<'_>| vec![KeyText { attribute: "part".into(), value: Some("x".into()) }; 60];
    let naming = Arc::new(SubjectNaming::new("login", Space::named("login"), show));
    let top = Top::new(8);
    top.add(Subject { naming: &naming, key: &"x".repeat(300).into() }, START_MS);
    let list = top.list(8, START_MS);
    assert_eq!((list.entries[0].subject.len(), list.entries[0].cut), (8, true));
}

/// A value has one name in a process: in both lists, under all rules, and wherever else subjects
/// are shown.
#[test]
fn hashes_stand_for_values() {
    let appearance = Arc::new(SubjectDisplay::new(Subjects::Hashed));
    let lists = [
        Top::new(8).displayed_by(Arc::clone(&appearance)),
        Top::new(8).displayed_by(Arc::clone(&appearance)),
    ];
    let (rules, long) = ([naming("login"), naming("search")], "x".repeat(300));
    for key in ["alice", &long] {
        let mut names = Vec::new();
        for naming in &rules {
            for list in &lists {
                list.add(Subject { naming, key: &key.into() }, START_MS);
            }
            names.push(appearance.subject(naming, &key.into()));
        }
        let [KeyText { attribute, value: Some(hash) }] = &names[0][..] else { panic!("{names:?}") };
        assert!(attribute == "user" && hash.len() == 16 && !hash.contains("alice"), "{names:?}");
        for list in &lists {
            let list = list.list(8, START_MS);
            let same = list.entries.iter().filter(|entry| entry.subject == names[0]).count();
            assert_eq!((same, &names[0]), (2, &names[1]), "{list:?}");
            assert!(list.entries.iter().all(|entry| !entry.cut), "a hash is of all of it: {list:?}");
        }
    }
    let other = SubjectDisplay::new(Subjects::Hashed);
    assert_ne!(other.subject(&rules[0], &"alice".into()), appearance.subject(&rules[0], &"alice".into()));

    // Shown as they are from now on, except for what was kept as a hash.
    appearance.set(Subjects::Plain);
    let list = lists[0].list(8, START_MS);
    let plain = list.entries.iter().filter(|entry| entry.subject == rules[0].plain(&"alice".into())).count();
    assert_eq!((plain, list.entries.iter().filter(|entry| entry.cut).count()), (2, 2), "{list:?}");
}

/// What was kept as it is while that was asked for is not shown any more when it is not.
#[test]
fn nothing_is_in_clear_that_is_to_be_hashed() {
    let appearance = Arc::new(SubjectDisplay::default());
    let (top, naming) = (Top::new(8).displayed_by(Arc::clone(&appearance)), naming("login"));
    for key in ["alice".to_owned(), "alice".repeat(100)] {
        top.add(Subject { naming: &naming, key: &key.into() }, START_MS);
    }
    appearance.set(Subjects::Hashed);
    for entry in top.list(8, START_MS).entries {
        let value = entry.subject[0].value.as_deref().expect("a value");
        assert!(value.len() == 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit()), "{value}");
    }
}
