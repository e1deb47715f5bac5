//! What a top list keeps at most, however long keys are.

use std::sync::Arc;

use slidegate::policy::KeyText;
use slidegate::telemetry::{Subject, SubjectNaming, Top};
use slidegate::{Key, Space};

/// Many parts, of which none is short.
fn show(_: &Key<'_>) -> Vec<KeyText> {
    vec![KeyText { attribute: "a-long-name".to_owned(), value: Some("x".repeat(100)) }; 60]
}

#[test]
fn a_list_keeps_as_much_as_its_page_says() {
    for (length, page_says) in [(256, 700_000), (300, 1_800_000)] {
        let naming = Arc::new(SubjectNaming::new("login", Space::named("login"), show));
        let mut top = None;
        let counted = allocation_counter::measure(|| {
            let top = top.insert(Top::default());
            // All places of both epochs, and then some; who comes twice is noted.
            for (epoch, subject) in (1..=2).flat_map(|epoch| (0..10_000).map(move |subject| (epoch, subject)))
            {
                let key = Key::from(format!("{subject:0length$}"));
                (0..2).for_each(|_| top.add(Subject { naming: &naming, key: &key }, epoch * Top::EPOCH_MS));
            }
        });
        let bytes = counted.bytes_current;
        assert!((page_says / 2..=page_says).contains(&bytes), "{bytes} bytes of keys of {length}");
    }
}
