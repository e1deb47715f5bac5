//! What is kept of a subject so that it can be shown: a bounded number of bytes.

use std::sync::Arc;

use super::Subject;
use crate::key::Key;
use crate::observe::subjects::{Appearance, Naming, Subjects};
use crate::policy::KeyText;

/// A key up to this length is kept as it is; of a longer one, texts that together have this length.
const MAX_BYTES: usize = 256;

#[derive(Clone, Debug)]
pub(super) struct Kept {
    naming: Arc<Naming>,
    form: u8,
    /// The key's, unless it is too long.
    bytes: Vec<u8>,
    long: Option<Box<Long>>,
}

/// The subject of a long key.
#[derive(Clone, Debug)]
struct Long {
    texts: Vec<KeyText>,
    is_cut: bool,
    /// How subjects appeared when it was made.
    made: Subjects,
}

impl Kept {
    pub(super) fn new(subject: Subject<'_>, appearance: &Appearance) -> Self {
        let mut kept = Self { naming: Arc::clone(subject.naming), form: 0, bytes: Vec::new(), long: None };
        kept.write(subject.key, appearance);
        kept
    }

    /// Another subject in its place, which mostly takes no memory.
    pub(super) fn replace(&mut self, subject: Subject<'_>, appearance: &Appearance) {
        if !Arc::ptr_eq(&self.naming, subject.naming) {
            self.naming = Arc::clone(subject.naming);
        }
        self.write(subject.key, appearance);
    }

    fn write(&mut self, key: &Key<'_>, appearance: &Appearance) {
        self.bytes.clear();
        self.form = key.form() as u8;
        self.long = None;
        if key.bytes().len() <= MAX_BYTES {
            // No more than it takes: a list has a bound.
            self.bytes.reserve_exact(key.bytes().len());
            self.bytes.extend_from_slice(key.bytes());
            return;
        }
        let made = appearance.subjects();
        // Hashes are of the whole value, so they are made before it is cut.
        let mut texts = appearance.subject(&self.naming, key);
        let is_cut = cut(&mut texts);
        self.long = Some(Box::new(Long { texts, is_cut, made }));
    }

    pub(super) fn rule(&self) -> &Arc<str> {
        self.naming.rule()
    }

    /// Whether less is shown than there was: the beginning of a value, or its hash where values are to be shown.
    pub(super) fn is_cut(&self, appearance: &Appearance) -> bool {
        let is_hash = |long: &Long| (long.made, appearance.subjects()) == (Subjects::Hashed, Subjects::Plain);
        self.long.as_deref().is_some_and(|long| long.is_cut || is_hash(long))
    }

    pub(super) fn shown(&self, appearance: &Appearance) -> Vec<KeyText> {
        if let Some(long) = &self.long {
            return match (long.made, appearance.subjects()) {
                (Subjects::Plain, Subjects::Hashed) => appearance.hide(long.texts.clone()),
                _ => long.texts.clone(),
            };
        }
        let key = Key::from_raw(self.form, &self.bytes).expect("a form that a key had");
        appearance.subject(&self.naming, &key)
    }
}

/// Cuts values so that together they have at most [`MAX_BYTES`], each where a character ends; whether that was necessary.
fn cut(texts: &mut [KeyText]) -> bool {
    const MARK: &str = "…";
    let (mut room, mut is_cut) = (MAX_BYTES, false);
    for value in texts.iter_mut().filter_map(|text| text.value.as_mut()) {
        if value.len() > room {
            value.truncate(value.floor_char_boundary(room.saturating_sub(MARK.len())));
            value.push_str(MARK);
            value.shrink_to_fit();
            is_cut = true;
        }
        room = room.saturating_sub(value.len());
    }
    is_cut
}
