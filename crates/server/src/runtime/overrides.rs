//! Temporary overrides: notes in the store, which every node reads.

mod error;
mod note;
mod set;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use slidegate::policy::TemporaryOverride;
use slidegate::store::{Note, PostOutcome};
use slidegate::{Clock, Store};
use tokio::time::{sleep, timeout};

pub use error::OverrideError;
pub(crate) use set::Overrides;
use set::{LastRead, Miss};

use super::Runtime;

/// Interval of reading the notes. Other nodes see a new override within two seconds.
const EVERY: Duration = Duration::from_secs(1);
/// Time that startup waits for the overrides of a remote store.
const AT_START: Duration = Duration::from_secs(1);
/// Duration of an override.
const EXPIRY_MS: std::ops::RangeInclusive<u64> = 1_000..=90 * 24 * 60 * 60 * 1_000;
/// Maximum length of a reason.
const MAX_REASON_BYTES: usize = 1_000;

/// Temporary override of a rule, until it expires or is removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverrideRecord {
    /// Id, to remove it by.
    pub id: String,
    /// The override. `None` if a program of another version wrote it.
    pub exception: Option<TemporaryOverride>,
    /// Reason for it.
    pub reason: String,
    /// Creation time in Unix milliseconds.
    pub created_at_ms: u64,
    /// Expiry time in Unix milliseconds.
    pub expires_at_ms: u64,
    /// Whether it is in force.
    pub active: bool,
    /// Reason why it is inactive.
    pub problem: Option<String>,
}

/// Override to add.
#[derive(Clone, Debug)]
pub struct NewOverride {
    /// The override.
    pub exception: TemporaryOverride,
    /// Duration: a second to 90 days.
    pub expires_in_ms: u64,
    /// Reason for it.
    pub reason: String,
}

impl<C: Clock> Runtime<C> {
    /// The overrides that have not expired, the oldest first.
    pub fn overrides(&self) -> Vec<OverrideRecord> {
        self.live.now.lock().overrides.list()
    }

    /// Adds an override: here at once, on the other nodes within two seconds.
    pub async fn add_override(&self, new: NewOverride) -> Result<OverrideRecord, OverrideError> {
        let NewOverride { exception, expires_in_ms, reason } = new;
        if !EXPIRY_MS.contains(&expires_in_ms) {
            return Err(OverrideError::Expiry);
        }
        if reason.len() > MAX_REASON_BYTES {
            return Err(OverrideError::Reason);
        }
        let fits = self.live.now.lock().file.with(std::slice::from_ref(&exception)).map(drop);
        fits.map_err(OverrideError::TemporaryOverride)?;
        let created_at_ms = self.gate().now_ms();
        let text = note::write(&exception, &reason, created_at_ms);
        let expires_at_ms = created_at_ms + expires_in_ms;
        let id = format!("{:012x}", getrandom::u64().unwrap_or_else(|_| self.decider.next_seed()) >> 16);
        let note = Note { id, text, expires_at_ms };

        let _turn = self.notes_lock.lock().await;
        match self.gate().store().post(&note, created_at_ms).await? {
            PostOutcome::Done => {}
            PostOutcome::Full => return Err(OverrideError::Full),
            PostOutcome::TooLarge => return Err(OverrideError::TooLarge),
        }
        let mut now = self.live.now.lock();
        let id = note.id.clone();
        now.overrides.insert(note);
        self.renew(&mut now);
        now.overrides.get(&id).ok_or(OverrideError::Expiry)
    }

    /// Removes an override: here at once, on the other nodes within two seconds. `false` if there is none.
    pub async fn remove_override(&self, id: &str) -> Result<bool, OverrideError> {
        let _turn = self.notes_lock.lock().await;
        let was_there = self.gate().store().withdraw(id).await?;
        let mut now = self.live.now.lock();
        let was_known = now.overrides.remove(id);
        if was_known {
            self.renew(&mut now);
        }
        Ok(was_there || was_known)
    }

    /// Reads the board once. While the store is unavailable, what is known stays.
    async fn read_board(&self) {
        let _turn = self.notes_lock.lock().await;
        match self.gate().store().notes().await {
            Ok(board) => {
                let mut now = self.live.now.lock();
                let changed = now.overrides.take(board, self.gate().now_ms());
                if changed.answers_again {
                    tracing::info!("the store is available again; its overrides apply");
                }
                if changed.notes {
                    self.renew(&mut now);
                } else if changed.version {
                    // A subject was forgotten somewhere: what was refused to it may be admitted.
                    self.gate().store().clear_deny_cache();
                }
            }
            Err(error) => self.note_silence(&error),
        }
    }

    /// Logs that the store fails, once until it is available again.
    fn note_silence(&self, why: &dyn Display) {
        match self.live.now.lock().overrides.miss() {
            Miss::First(LastRead::Nothing) => tracing::warn!(
                "the store fails: {why}. Until it answers, rules do so by their on_store_error, and without the \
                 overrides that it may have"
            ),
            Miss::First(LastRead::Some_) => tracing::warn!(
                "the store fails: {why}. Until it answers, rules do so by their on_store_error, and with the \
                 overrides that were known"
            ),
            Miss::Again => tracing::debug!("the store still fails: {why}"),
        }
    }

    /// Drops expired overrides. Milliseconds until the next one expires.
    fn drop_expired(&self) -> Option<u64> {
        let now_ms = self.gate().now_ms();
        let mut now = self.live.now.lock();
        if now.overrides.expire(now_ms) {
            self.renew(&mut now);
        }
        now.overrides.next_expiry_ms().map(|at_ms| at_ms.saturating_sub(now_ms))
    }
}

/// Reads the notes before the first request, if the store responds in time.
pub(crate) async fn begin<C: Clock>(runtime: &Runtime<C>) {
    if timeout(AT_START, runtime.read_board()).await.is_err() {
        runtime.note_silence(&"no temporary overrides within a second");
    }
}

/// Follows the notes of the store, and drops overrides as they expire. Never returns.
pub(crate) async fn follow<C: Clock>(runtime: Arc<Runtime<C>>) {
    loop {
        let next = tokio::time::Instant::now() + EVERY;
        loop {
            let left = next.saturating_duration_since(tokio::time::Instant::now());
            let expiry = runtime.drop_expired().map_or(left, |in_ms| Duration::from_millis(in_ms.max(1)));
            sleep(left.min(expiry)).await;
            if tokio::time::Instant::now() >= next {
                break;
            }
        }
        runtime.read_board().await;
    }
}
