//! What is kept of a subject so that it can be shown: a bounded number of bytes.

use std::sync::Arc;

use super::Subject;
use crate::telemetry::subject_display::{SubjectDisplay, SubjectNaming, Subjects};
use slidegate_policy::KeyText;
use slidegate_store::Key;

/// A key up to this length is kept as it is; of a longer one, texts whose values together have this length, but for a mark on each that is cut.
const MAX_BYTES: usize = 256;
/// Most texts that are stored of a long key.
const MAX_TEXTS: usize = 8;

/// A subject that is to be kept.
pub(super) struct LabelSource<'a> {
    subject: Subject<'a>,
    long: Option<Box<LongLabel>>,
}

impl<'a> LabelSource<'a> {
    pub(super) fn of(subject: Subject<'a>, display: &SubjectDisplay) -> Self {
        let is_long = subject.key.bytes().len() > MAX_BYTES;
        let long = is_long.then(|| Box::new(LongLabel::of(subject, display)));
        Self { subject, long }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Label {
    naming: Arc<SubjectNaming>,
    form: u8,
    /// The key's, unless it is too long.
    bytes: Vec<u8>,
    long: Option<Box<LongLabel>>,
}

/// The subject of a long key.
#[derive(Clone, Debug)]
struct LongLabel {
    texts: Vec<KeyText>,
    is_cut: bool,
    /// How subjects appeared when it was made.
    made: Subjects,
}

impl LongLabel {
    fn of(subject: Subject<'_>, display: &SubjectDisplay) -> Self {
        let made = display.subjects();
        // Hashes are of the whole value, so they are made before it is cut.
        let mut texts = display.like(made, subject.naming.plain(subject.key));
        let is_cut = cut(&mut texts);
        Self { texts, is_cut, made }
    }
}

impl Label {
    pub(super) fn new(note: LabelSource<'_>) -> Self {
        let naming = Arc::clone(note.subject.naming);
        let mut label = Self { naming, form: 0, bytes: Vec::new(), long: None };
        label.replace(note);
        label
    }

    /// Another subject in its place, which mostly takes no memory.
    pub(super) fn replace(
        &mut self,
        LabelSource { subject: Subject { naming, key }, long }: LabelSource<'_>,
    ) {
        if !Arc::ptr_eq(&self.naming, naming) {
            self.naming = Arc::clone(naming);
        }
        self.form = key.form() as u8;
        self.long = long;
        if self.long.is_some() {
            self.bytes = Vec::new();
            return;
        }
        self.bytes.clear();
        // No more than it takes: a list has a bound.
        self.bytes.reserve_exact(key.bytes().len());
        self.bytes.extend_from_slice(key.bytes());
    }

    pub(super) fn rule(&self) -> &Arc<str> {
        self.naming.rule()
    }

    /// Whether less is shown than there was: the beginning of a value, or its hash where values are to be shown.
    pub(super) fn is_cut(&self, display: &SubjectDisplay) -> bool {
        let is_hash =
            |long: &LongLabel| (long.made, display.subjects()) == (Subjects::Hashed, Subjects::Plain);
        self.long.as_deref().is_some_and(|long| long.is_cut || is_hash(long))
    }

    pub(super) fn render(&self, display: &SubjectDisplay) -> Vec<KeyText> {
        if let Some(long) = &self.long {
            // What is a hash stays one.
            let is_hash = long.made == Subjects::Hashed;
            let wanted = if is_hash { Subjects::Plain } else { display.subjects() };
            return display.like(wanted, long.texts.clone());
        }
        let key = Key::from_raw(self.form, &self.bytes).expect("a form that a key contents");
        display.subject(&self.naming, &key)
    }
}

/// Leaves [`MAX_TEXTS`] and of their values [`MAX_BYTES`], each cut where a character ends; whether that was necessary.
fn cut(texts: &mut Vec<KeyText>) -> bool {
    const MARK: &str = "…";
    let (mut room, mut is_cut) = (MAX_BYTES, texts.len() > MAX_TEXTS);
    texts.truncate(MAX_TEXTS);
    texts.shrink_to_fit();
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
