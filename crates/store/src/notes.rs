//! Notes that every process with a store can read: what operators change for a while, without a file.

/// The most notes on a board.
pub const MAX_NOTES: usize = 1_000;
/// The longest text of a note.
pub const MAX_NOTE_BYTES: usize = 16 << 10;
/// The longest id of a note.
pub const MAX_NOTE_ID_BYTES: usize = 128;

/// A text that all processes with a store share, until it expires or is taken off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// What it is called; a board has one note of a name.
    pub id: String,
    /// What it says; a store does not read it.
    pub text: String,
    /// When it may be cleared away, as Unix milliseconds.
    pub expires_at_ms: u64,
}

/// What a store's board says.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Notes {
    /// Grows with every note that is put up or taken off, and with every subject that is forgotten.
    pub version: u64,
    /// The notes by their ids, those included that have expired and were not yet cleared away.
    pub notes: Vec<Note>,
}

/// What came of putting up a note.
#[must_use = "a note may be refused"]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PostOutcome {
    /// It is there.
    Done,
    /// There are [`MAX_NOTES`] others, none of which has expired. Take one off first.
    Full,
    /// Its text is longer than [`MAX_NOTE_BYTES`], or its id than [`MAX_NOTE_ID_BYTES`].
    TooLarge,
}

impl Note {
    /// Whether it keeps to the bounds.
    pub fn fits(&self) -> bool {
        self.text.len() <= MAX_NOTE_BYTES && self.id.len() <= MAX_NOTE_ID_BYTES
    }
}

impl Notes {
    /// Clears away what has expired, and puts the note up if there is room, in the place of one with its id.
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
            Ok(place) => self.notes[place].clone_from(note),
            Err(place) => self.notes.insert(place, note.clone()),
        }
        self.version += 1;
        PostOutcome::Done
    }

    /// Takes a note off; whether it was there.
    pub(super) fn withdraw(&mut self, id: &str) -> bool {
        let found = self.find(id).map(|place| self.notes.remove(place)).is_ok();
        self.version += u64::from(found);
        found
    }

    fn find(&self, id: &str) -> Result<usize, usize> {
        self.notes.binary_search_by(|note| note.id.as_str().cmp(id))
    }
}
