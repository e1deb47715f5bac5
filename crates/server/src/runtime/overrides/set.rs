//! Set of overrides on this node.

use std::collections::HashMap;

use slidegate::policy::{Policy, TemporaryOverride};
use slidegate::store::{Note, Notes};

use super::{OverrideRecord, error, note};

/// Set of overrides.
#[derive(Default)]
pub(crate) struct Overrides {
    /// Version of the notes that were read last.
    version: Option<u64>,
    entries: Vec<NoteEntry>,
    /// Whether the last attempt to read the notes failed.
    is_outage: bool,
}

struct NoteEntry {
    note: Note,
    record: OverrideRecord,
}

impl NoteEntry {
    fn new(note: Note) -> Self {
        Self { record: note::read(&note), note }
    }
}

/// Changes of the notes.
pub(super) struct NoteChanges {
    pub(super) version: bool,
    pub(super) notes: bool,
    /// Whether an outage of the store is over.
    pub(super) is_recovered: bool,
}

/// Outage of the store.
pub(super) enum Outage {
    /// It begins, and no notes were read before.
    BeforeFirstRead,
    /// It begins, and notes were read before.
    AfterRead,
    Continues,
}

impl Overrides {
    /// Records, the oldest first.
    pub(super) fn list(&self) -> Vec<OverrideRecord> {
        let mut list: Vec<OverrideRecord> = self.entries.iter().map(|entry| entry.record.clone()).collect();
        list.sort_by(|one, other| (one.created_at_ms, &one.id).cmp(&(other.created_at_ms, &other.id)));
        list
    }

    pub(super) fn get(&self, id: &str) -> Option<OverrideRecord> {
        self.entries.iter().find(|entry| entry.note.id == id).map(|entry| entry.record.clone())
    }

    pub(super) fn insert(&mut self, note: Note) {
        self.remove(&note.id);
        self.entries.push(NoteEntry::new(note));
    }

    /// Removes an override; returns whether it was there.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.note.id != id);
        self.entries.len() < before
    }

    /// Replaces the overrides by those of the notes.
    pub(super) fn replace(&mut self, notes: Notes, now_ms: u64) -> NoteChanges {
        let Notes { version, notes } = notes;
        let is_new_version = self.version.replace(version) != Some(version);
        let old = std::mem::take(&mut self.entries);
        let (count, mut unchanged) = (old.len(), 0);
        let mut old: HashMap<String, NoteEntry> =
            old.into_iter().map(|entry| (entry.note.id.clone(), entry)).collect();
        for note in notes.into_iter().filter(|note| note.expires_at_ms > now_ms) {
            let entry = old.remove(&note.id).filter(|entry| entry.note == note);
            unchanged += usize::from(entry.is_some());
            self.entries.push(entry.unwrap_or_else(|| NoteEntry::new(note)));
        }
        NoteChanges {
            version: is_new_version,
            notes: unchanged < count || unchanged < self.entries.len(),
            is_recovered: std::mem::take(&mut self.is_outage),
        }
    }

    /// Records that the notes could not be read.
    pub(super) fn begin_outage(&mut self) -> Outage {
        match (std::mem::replace(&mut self.is_outage, true), self.version) {
            (true, _) => Outage::Continues,
            (false, None) => Outage::BeforeFirstRead,
            (false, Some(_)) => Outage::AfterRead,
        }
    }

    /// Drops expired overrides; returns whether there were any.
    pub(super) fn expire(&mut self, now_ms: u64) -> bool {
        let before = self.entries.len();
        self.entries.retain(|NoteEntry { note, .. }| {
            let is_current = note.expires_at_ms > now_ms;
            if !is_current {
                tracing::info!("override {} has expired", note.id);
            }
            is_current
        });
        self.entries.len() < before
    }

    pub(super) fn next_expiry_ms(&self) -> Option<u64> {
        self.entries.iter().map(|entry| entry.note.expires_at_ms).min()
    }

    /// Rules of a file with all overrides that fit them. Marks the others as inactive.
    pub(crate) fn over(&mut self, file: &Policy, now_ms: u64) -> Policy {
        self.expire(now_ms);
        // The newest takes precedence.
        self.entries.sort_by(|one, other| {
            let order = |entry: &NoteEntry| (entry.record.created_at_ms, entry.note.id.clone());
            order(other).cmp(&order(one))
        });
        let definitions = self.entries.iter().filter_map(|entry| entry.record.definition.clone());
        let definitions: Vec<TemporaryOverride> = definitions.collect();
        let (policy, results) = file.with_each(&definitions);
        let readable = self.entries.iter_mut().filter(|entry| entry.record.definition.is_some());
        for (entry, result) in readable.zip(results) {
            entry.set_problem(result.err().map(|errors| error::render(&errors)));
        }
        policy
    }
}

impl NoteEntry {
    /// Marks the override as active, or as inactive with a problem, and logs a change.
    fn set_problem(&mut self, problem: Option<String>) {
        let OverrideRecord { id, definition, active, problem: old, .. } = &mut self.record;
        let rule = definition.as_ref().map_or("", TemporaryOverride::rule);
        match &problem {
            None if !*active => tracing::info!("override {id} of rule {rule} is in force"),
            Some(problem) if old.as_ref() != Some(problem) => {
                tracing::warn!("override {id} of rule {rule} is not in force: {problem}");
            }
            _ => {}
        }
        (*active, *old) = (problem.is_none(), problem);
    }
}
