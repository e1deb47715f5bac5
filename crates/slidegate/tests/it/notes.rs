//! Boards that are asked the same, and have to say the same.

use slidegate::Store;
use slidegate::store::{MAX_NOTE_BYTES, MAX_NOTE_ID_BYTES, MAX_NOTES, Note, Notes, PostOutcome};
use slidegate_testkit::cases::Rng;

mod memory;

pub(crate) const NOW_MS: u64 = 1_745_000_000_000;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Post(Note),
    Withdraw(String),
    Forward { ms: u64 },
}

pub(crate) fn note(id: &str, text: &str, expires_at_ms: u64) -> Note {
    Note { id: id.to_owned(), text: text.to_owned(), expires_at_ms }
}

/// Few ids, so that they meet; texts that look like what a store may write around them.
pub(crate) fn generate(rng: &Rng) -> ((), Vec<Step>) {
    const IDS: [&str; 6] = ["", "v", "n", "a b", "ä", "0"];
    const TEXTS: [&str; 6] = ["", " ", "17 x", "{\"a\":\"\\u0000\"}", "zwölf\n", "\0"];
    let mut now_ms = NOW_MS;
    let step = |_| match rng.below(8) {
        0..=1 => {
            let ms = rng.below(6);
            now_ms += ms;
            Step::Forward { ms }
        }
        2..=3 => Step::Withdraw(rng.pick(&IDS).to_owned()),
        _ => Step::Post(note(
            rng.pick(&IDS),
            rng.pick(&TEXTS),
            rng.pick(&[now_ms + rng.below(12), u64::MAX, 0]),
        )),
    };
    let steps = (0..rng.between(1, 30)).map(step).collect();
    ((), steps)
}

/// What a store says after a step: what came of it, and the notes.
pub(crate) async fn take<S: Store>(store: &S, step: &Step, now_ms: u64) -> (String, Vec<Note>) {
    let before = store.notes().await.expect("notes");
    let (came, changed) = match step {
        Step::Post(note) => {
            let posted = store.post(note, now_ms).await.expect("an answer");
            (format!("{posted:?}"), posted == PostOutcome::Done)
        }
        Step::Withdraw(id) => {
            let found = store.withdraw(id).await.expect("an answer");
            (format!("{found}"), found)
        }
        Step::Forward { .. } => (String::new(), false),
    };
    let after = store.notes().await.expect("notes");
    assert_eq!(after.version > before.version, changed, "{step:?}: {before:?} to {after:?}");
    assert!(after.version >= before.version);
    (came, after.notes)
}

/// As many notes as there may be and not one more, unless one of them has expired, or is the same.
pub(crate) async fn keeps_its_bounds<S: Store>(store: &S) {
    let post = async |id: &str, text: &str, expires_at_ms: u64, now_ms: u64| {
        store.post(&note(id, text, expires_at_ms), now_ms).await.expect("an answer")
    };
    for n in 0..MAX_NOTES as u64 {
        assert_eq!(post(&format!("{n:04}"), "text", NOW_MS + 1 + n, NOW_MS).await, PostOutcome::Done);
    }
    let full: Notes = store.notes().await.expect("notes");
    assert_eq!(full.notes.len(), MAX_NOTES);
    assert!(full.notes.is_sorted_by(|one, other| one.id < other.id));
    assert_eq!(post("another", "", u64::MAX, NOW_MS).await, PostOutcome::Full);
    assert_eq!(store.notes().await.expect("notes"), full, "nothing changed");
    assert_eq!(post("0500", "changed", u64::MAX, NOW_MS).await, PostOutcome::Done);
    // The first ten have expired: in the place of one there is room, and the others go too.
    assert_eq!(post("another", "", u64::MAX, NOW_MS + 10).await, PostOutcome::Done);
    let listed = store.notes().await.expect("notes");
    assert_eq!((listed.notes.len(), listed.notes[0].id.as_str()), (MAX_NOTES - 9, "0010"));
    assert!(listed.notes.contains(&note("0500", "changed", u64::MAX)));
    let (text, id) = ("x".repeat(MAX_NOTE_BYTES), "i".repeat(MAX_NOTE_ID_BYTES));
    assert_eq!(post(&id, &text, u64::MAX, NOW_MS).await, PostOutcome::Done);
    assert!(store.notes().await.expect("notes").notes.contains(&note(&id, &text, u64::MAX)));
    assert_eq!(post(&format!("{id}i"), "", u64::MAX, NOW_MS).await, PostOutcome::TooLarge);
    assert_eq!(post("long", &format!("{text}x"), u64::MAX, NOW_MS).await, PostOutcome::TooLarge);
}
