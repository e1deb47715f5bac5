//! Set of overrides on this node.

use std::collections::HashMap;

use slidegate::policy::{Policy, TemporaryOverride};
use slidegate::store::{Note, Notes};

use super::{OverrideRecord, error, note};

/// Set of overrides.
#[derive(Default)]
pub(crate) struct Overrides {
    /// Of the board that they were read from.
    version: Option<u64>,
    known: Vec<OverrideEntry>,
    /// Whether the board could not be read the last time.
    is_missed: bool,
}

struct OverrideEntry {
    note: Note,
    what: OverrideRecord,
}

impl OverrideEntry {
    fn new(note: Note) -> Self {
        Self { what: note::read(&note), note }
    }
}

/// Changes of the notes.
pub(super) struct News {
    pub(super) version: bool,
    pub(super) notes: bool,
    /// It could not be read the last time.
    pub(super) answers_again: bool,
}

/// A board that could not be read.
pub(super) enum Miss {
    /// For the first time since it could, or since the start.
    First(LastRead),
    Again,
}

/// Notes that were read before.
pub(super) enum LastRead {
    Nothing,
    Some_,
}

impl Overrides {
    /// The oldest first.
    pub(super) fn list(&self) -> Vec<OverrideRecord> {
        let mut list: Vec<OverrideRecord> = self.known.iter().map(|known| known.what.clone()).collect();
        list.sort_by(|one, other| (one.created_at_ms, &one.id).cmp(&(other.created_at_ms, &other.id)));
        list
    }

    pub(super) fn get(&self, id: &str) -> Option<OverrideRecord> {
        self.known.iter().find(|known| known.note.id == id).map(|known| known.what.clone())
    }

    pub(super) fn insert(&mut self, note: Note) {
        self.remove(&note.id);
        self.known.push(OverrideEntry::new(note));
    }

    /// Whether it was known.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let before = self.known.len();
        self.known.retain(|known| known.note.id != id);
        self.known.len() < before
    }

    /// Replaces the overrides by those of the notes.
    pub(super) fn take(&mut self, board: Notes, now_ms: u64) -> News {
        let Notes { version, notes } = board;
        let version_is_new = self.version.replace(version) != Some(version);
        let (before, mut kept) = (self.known.len(), 0);
        let known = std::mem::take(&mut self.known).into_iter();
        let mut known: HashMap<String, OverrideEntry> =
            known.map(|known| (known.note.id.clone(), known)).collect();
        for note in notes.into_iter().filter(|note| note.expires_at_ms > now_ms) {
            match known.remove(&note.id).filter(|known| known.note == note) {
                Some(known) => {
                    self.known.push(known);
                    kept += 1;
                }
                None => self.known.push(OverrideEntry::new(note)),
            }
        }
        let notes_are_new = kept < before || kept < self.known.len();
        let answers_again = std::mem::take(&mut self.is_missed);
        News { version: version_is_new, notes: notes_are_new, answers_again }
    }

    /// Notes that the board could not be read.
    pub(super) fn miss(&mut self) -> Miss {
        match (std::mem::replace(&mut self.is_missed, true), self.version) {
            (true, _) => Miss::Again,
            (false, None) => Miss::First(LastRead::Nothing),
            (false, Some(_)) => Miss::First(LastRead::Some_),
        }
    }

    /// Drops what has expired; whether anything had.
    pub(super) fn expire(&mut self, now_ms: u64) -> bool {
        let before = self.known.len();
        self.known.retain(|OverrideEntry { note, .. }| {
            let holds = note.expires_at_ms > now_ms;
            if !holds {
                tracing::info!("override {} has ended", note.id);
            }
            holds
        });
        self.known.len() < before
    }

    pub(super) fn next_expiry_ms(&self) -> Option<u64> {
        self.known.iter().map(|known| known.note.expires_at_ms).min()
    }

    /// The rules of a file with all that fit them; notes which do not, and why.
    pub(crate) fn over(&mut self, file: &Policy, now_ms: u64) -> Policy {
        self.expire(now_ms);
        // The newest goes before older ones.
        self.known.sort_by(|one, other| {
            let order = |known: &OverrideEntry| (known.what.created_at_ms, known.note.id.clone());
            order(other).cmp(&order(one))
        });
        let readable = self.known.iter().filter_map(|known| known.what.exception.clone());
        let exceptions: Vec<TemporaryOverride> = readable.collect();
        let (policy, fits) = file.with_each(&exceptions);
        let readable = self.known.iter_mut().filter(|known| known.what.exception.is_some());
        for (known, fits) in readable.zip(fits) {
            known.judge(fits.err().map(|errors| error::render(&errors)));
        }
        policy
    }
}

impl OverrideEntry {
    /// Whether it is in force is told when that changes.
    fn judge(&mut self, problem: Option<String>) {
        let OverrideRecord { id, exception, active, problem: known, .. } = &mut self.what;
        let rule = exception.as_ref().map_or("", TemporaryOverride::rule);
        match &problem {
            None if !*active => tracing::info!("override {id} of rule {rule} is in force"),
            Some(problem) if known.as_ref() != Some(problem) => {
                tracing::warn!("override {id} of rule {rule} is not in force: {problem}");
            }
            _ => {}
        }
        (*active, *known) = (problem.is_none(), problem);
    }
}
