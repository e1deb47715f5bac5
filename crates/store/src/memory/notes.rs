//! Notes of the in-memory store, and the deletion of subjects.

use super::Memory;
use crate::ForgetRequest;
use crate::notes::{Note, Notes, PostOutcome};

impl Memory {
    /// [`Store::forget`](crate::Store::forget) without waiting, which cannot fail.
    ///
    /// Deletes the whole subject, whichever of its limits are named: all states, the denial mark and
    /// the open permits.
    pub fn forget_now(&self, subject: &ForgetRequest<'_>) {
        let fingerprint = self.fingerprints.of(subject.space, subject.key);
        self.shards[self.shard_of(&fingerprint)].lock().forget(&self.interner, fingerprint);
        self.notes.lock().version += 1;
    }

    /// [`Store::post`](crate::Store::post) without waiting, which cannot fail.
    pub fn post_now(&self, note: &Note, now_ms: u64) -> PostOutcome {
        self.notes.lock().post(note, now_ms)
    }

    /// [`Store::withdraw`](crate::Store::withdraw) without waiting, which cannot fail.
    pub fn withdraw_now(&self, id: &str) -> bool {
        self.notes.lock().withdraw(id)
    }

    /// [`Store::notes`](crate::Store::notes) without waiting, which cannot fail.
    pub fn notes_now(&self) -> Notes {
        self.notes.lock().clone()
    }
}
