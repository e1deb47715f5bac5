//! Label of a subject in a top list, of bounded size.

use std::sync::Arc;

use super::Subject;
use crate::telemetry::subject_display::{SubjectDisplay, SubjectNaming, Subjects};
use slidegate_policy::KeyText;
use slidegate_store::Key;

/// Maximum length of a key that is stored as it is. Of a longer one, texts are stored whose values
/// have this length together, plus a mark on each that is cut.
const MAX_BYTES: usize = 256;
/// Maximum number of texts that are stored of a long key.
const MAX_TEXTS: usize = 8;

/// Source of a label.
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
    /// Bytes of the key, unless it is too long.
    bytes: Vec<u8>,
    long: Option<Box<LongLabel>>,
}

/// Label of a long key.
#[derive(Clone, Debug)]
struct LongLabel {
    texts: Vec<KeyText>,
    is_cut: bool,
    /// Display setting with which the texts were made.
    setting: Subjects,
}

impl LongLabel {
    fn of(subject: Subject<'_>, display: &SubjectDisplay) -> Self {
        let setting = display.subjects();
        // Hashes are of the whole value, so they are made before it is cut.
        let mut texts = display.apply(setting, subject.naming.plain(subject.key));
        let is_cut = cut(&mut texts);
        Self { texts, is_cut, setting }
    }
}

impl Label {
    pub(super) fn new(source: LabelSource<'_>) -> Self {
        let naming = Arc::clone(source.subject.naming);
        let mut label = Self { naming, form: 0, bytes: Vec::new(), long: None };
        label.replace(source);
        label
    }

    /// Becomes the label of another subject, mostly without an allocation.
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
        // Exactly: the memory of a list has a bound.
        self.bytes.reserve_exact(key.bytes().len());
        self.bytes.extend_from_slice(key.bytes());
    }

    pub(super) fn rule(&self) -> &Arc<str> {
        self.naming.rule()
    }

    /// True if the texts are not complete: the beginning of a value, or its hash although values
    /// are shown.
    pub(super) fn is_cut(&self, display: &SubjectDisplay) -> bool {
        let is_hash =
            |long: &LongLabel| (long.setting, display.subjects()) == (Subjects::Hashed, Subjects::Plain);
        self.long.as_deref().is_some_and(|long| long.is_cut || is_hash(long))
    }

    pub(super) fn render(&self, display: &SubjectDisplay) -> Vec<KeyText> {
        if let Some(long) = &self.long {
            // A hash is not hashed again.
            let is_hash = long.setting == Subjects::Hashed;
            let setting = if is_hash { Subjects::Plain } else { display.subjects() };
            return display.apply(setting, long.texts.clone());
        }
        let key = Key::from_raw(self.form, &self.bytes).expect("the form of a key");
        display.subject(&self.naming, &key)
    }
}

/// Cuts texts to [`MAX_TEXTS`] and their values to [`MAX_BYTES`] together, between characters.
/// Returns whether that was necessary.
fn cut(texts: &mut Vec<KeyText>) -> bool {
    const MARK: &str = "…";
    let (mut left, mut is_cut) = (MAX_BYTES, texts.len() > MAX_TEXTS);
    texts.truncate(MAX_TEXTS);
    texts.shrink_to_fit();
    for value in texts.iter_mut().filter_map(|text| text.value.as_mut()) {
        if value.len() > left {
            value.truncate(value.floor_char_boundary(left.saturating_sub(MARK.len())));
            value.push_str(MARK);
            value.shrink_to_fit();
            is_cut = true;
        }
        left = left.saturating_sub(value.len());
    }
    is_cut
}
