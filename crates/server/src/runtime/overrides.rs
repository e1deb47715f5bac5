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
use set::Outage;
pub(crate) use set::Overrides;

use super::Runtime;

/// Interval of reading the notes. Other nodes see a new override within two seconds.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time that startup waits for the overrides of a remote store.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(1);
/// Duration of an override.
const EXPIRY_MS: std::ops::RangeInclusive<u64> = 1_000..=90 * 24 * 60 * 60 * 1_000;
/// Maximum length of a reason.
const MAX_REASON_BYTES: usize = 1_000;

/// Temporary override of a rule, until it expires or is removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverrideRecord {
    /// Id, to remove it by.
    pub id: String,
    /// Definition. `None` if this version cannot read it.
    pub definition: Option<TemporaryOverride>,
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

/// Temporary override to add.
#[derive(Clone, Debug)]
pub struct NewOverride {
    /// Definition.
    pub definition: TemporaryOverride,
    /// Duration: a second to 90 days.
    pub expires_in_ms: u64,
    /// Reason for it.
    pub reason: String,
}

impl<C: Clock> Runtime<C> {
    /// Overrides that have not expired, the oldest first.
    pub fn overrides(&self) -> Vec<OverrideRecord> {
        self.live.active.lock().overrides.list()
    }

    /// Adds an override: here at once, on the other nodes within two seconds.
    pub async fn add_override(&self, new: NewOverride) -> Result<OverrideRecord, OverrideError> {
        let NewOverride { definition, expires_in_ms, reason } = new;
        if !EXPIRY_MS.contains(&expires_in_ms) {
            return Err(OverrideError::Expiry);
        }
        if reason.len() > MAX_REASON_BYTES {
            return Err(OverrideError::Reason);
        }
        let fits = self.live.active.lock().file.with(std::slice::from_ref(&definition)).map(drop);
        fits.map_err(OverrideError::TemporaryOverride)?;
        let created_at_ms = self.gate().now_ms();
        let text = note::write(&definition, &reason, created_at_ms);
        let expires_at_ms = created_at_ms + expires_in_ms;
        let id = format!("{:012x}", getrandom::u64().unwrap_or_else(|_| self.decider.next_seed()) >> 16);
        let note = Note { id, text, expires_at_ms };

        let _lock = self.notes_lock.lock().await;
        match self.gate().store().post(&note, created_at_ms).await? {
            PostOutcome::Done => {}
            PostOutcome::Full => return Err(OverrideError::Full),
            PostOutcome::TooLarge => return Err(OverrideError::TooLarge),
        }
        let mut now = self.live.active.lock();
        let id = note.id.clone();
        now.overrides.insert(note);
        self.renew(&mut now);
        now.overrides.get(&id).ok_or(OverrideError::Expiry)
    }

    /// Removes an override: here at once, on the other nodes within two seconds. `false` if there
    /// is none.
    pub async fn remove_override(&self, id: &str) -> Result<bool, OverrideError> {
        let _lock = self.notes_lock.lock().await;
        let was_in_store = self.gate().store().withdraw(id).await?;
        let mut now = self.live.active.lock();
        let was_in_force = now.overrides.remove(id);
        if was_in_force {
            self.renew(&mut now);
        }
        Ok(was_in_store || was_in_force)
    }

    /// Reads the notes once. While the store is unavailable, the last overrides stay in force.
    async fn read_notes(&self) {
        let _lock = self.notes_lock.lock().await;
        match self.gate().store().notes().await {
            Ok(notes) => {
                let mut now = self.live.active.lock();
                let changed = now.overrides.replace(notes, self.gate().now_ms());
                if changed.is_recovered {
                    tracing::info!("the store is available again; its overrides apply");
                }
                if changed.notes {
                    self.renew(&mut now);
                } else if changed.version {
                    // A node has reset a subject, whose cached denials are void.
                    self.gate().store().clear_deny_cache();
                }
            }
            Err(error) => self.log_outage(&error),
        }
    }

    /// Logs that the store fails, once until it is available again.
    fn log_outage(&self, why: &dyn Display) {
        let outage = self.live.active.lock().overrides.begin_outage();
        let overrides = match outage {
            Outage::Continues => return tracing::debug!("the store is still unavailable: {why}"),
            Outage::BeforeFirstRead => "the temporary overrides in it do not apply",
            Outage::AfterRead => "the last temporary overrides stay in force",
        };
        tracing::warn!(
            "the store is unavailable: {why}. Until it responds, on_store_error applies, and {overrides}"
        );
    }

    /// Drops expired overrides. Milliseconds until the next one expires.
    fn drop_expired(&self) -> Option<u64> {
        let now_ms = self.gate().now_ms();
        let mut now = self.live.active.lock();
        if now.overrides.expire(now_ms) {
            self.renew(&mut now);
        }
        now.overrides.next_expiry_ms().map(|at_ms| at_ms.saturating_sub(now_ms))
    }
}

/// Reads the notes before the first request, if the store responds in time.
pub(crate) async fn begin<C: Clock>(runtime: &Runtime<C>) {
    if timeout(STARTUP_TIMEOUT, runtime.read_notes()).await.is_err() {
        runtime.log_outage(&"no temporary overrides within a second");
    }
}

/// Follows the notes of the store, and drops overrides as they expire. Never returns.
pub(crate) async fn follow<C: Clock>(runtime: Arc<Runtime<C>>) {
    loop {
        let next = tokio::time::Instant::now() + POLL_INTERVAL;
        loop {
            let left = next.saturating_duration_since(tokio::time::Instant::now());
            let expiry = runtime.drop_expired().map_or(left, |in_ms| Duration::from_millis(in_ms.max(1)));
            sleep(left.min(expiry)).await;
            if tokio::time::Instant::now() >= next {
                break;
            }
        }
        runtime.read_notes().await;
    }
}
