//! Notes: short texts that all processes with a store share, such as temporary overrides.

/// Maximum number of notes in a store.
pub const MAX_NOTES: usize = 1_000;
/// Maximum length of a note's text, in bytes.
pub const MAX_NOTE_BYTES: usize = 16 << 10;
/// Maximum length of a note's id, in bytes.
pub const MAX_NOTE_ID_BYTES: usize = 128;

/// Note: a text that all processes with a store share until it expires or is withdrawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Unique id.
    pub id: String,
    /// Text, opaque to the store.
    pub text: String,
    /// Expiry as Unix milliseconds.
    pub expires_at_ms: u64,
}

/// Notes of a store.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Notes {
    /// Version: grows with every change of a note and with every deleted subject.
    pub version: u64,
    /// Notes by id, including expired ones that are not deleted yet.
    pub notes: Vec<Note>,
}

/// Outcome of posting a note.
#[must_use = "a note may be refused"]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PostOutcome {
    /// Stored.
    Done,
    /// Rejected: the store has [`MAX_NOTES`] other live notes. Withdraw one first.
    Full,
    /// Rejected: longer than [`MAX_NOTE_BYTES`], or an id longer than [`MAX_NOTE_ID_BYTES`].
    TooLarge,
}

impl Note {
    /// True if its text and id are within the bounds.
    pub fn fits(&self) -> bool {
        self.text.len() <= MAX_NOTE_BYTES && self.id.len() <= MAX_NOTE_ID_BYTES
    }
}

impl Notes {
    /// Deletes expired notes, and inserts this one or replaces the one with its id.
    pub(super) fn post(&mut self, note: &Note, now_ms: u64) -> PostOutcome {
        if !note.fits() {
            return PostOutcome::TooLarge;
        }
        let others = |other: &&Note| other.id != note.id && other.expires_at_ms > now_ms;
        if self.notes.iter().filter(others).count() >= MAX_NOTES {
            return PostOutcome::Full;
        }
        self.notes.retain(|other| other.id == note.id || other.expires_at_ms > now_ms);
        match self.find(&note.id) {
            Ok(index) => self.notes[index].clone_from(note),
            Err(index) => self.notes.insert(index, note.clone()),
        }
        self.version += 1;
        PostOutcome::Done
    }

    /// Deletes a note; returns whether it existed.
    pub(super) fn withdraw(&mut self, id: &str) -> bool {
        let found = self.find(id).map(|index| self.notes.remove(index)).is_ok();
        self.version += u64::from(found);
        found
    }

    fn find(&self, id: &str) -> Result<usize, usize> {
        self.notes.binary_search_by(|note| note.id.as_str().cmp(id))
    }
}
