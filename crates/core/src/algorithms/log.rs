//! Sliding window log: every admitted cost is stored until it has left the window.
//!
//! A cost admitted at t is stamped with the end of its slot, so it is never forgotten early and at
//! most resolution − 1 ms late; costs of one slot share an entry, so the log has at most ⌈window /
//! resolution⌉ + 2. The resolution may change at any time: then entries of slots that were longer
//! may lie ahead, and new costs are inserted before them, at the end of their own slot.

mod entries;
mod head;
mod narrow;
mod ring;
mod wide;

use alloc::boxed::Box;

pub use head::LogHead;
pub use narrow::NarrowLog;
pub use ring::Ring;

use crate::history::{Attempt, History};
use crate::limit::{Limit, MAX_ENTRIES, MAX_WINDOW_MS};
use crate::settle::{MAX_DEBT, Receipt, SettleEffect};
use crate::time::{ClockReading, MAX_TIME_MS, read};
use entries::{Entries, add, is_spent, settle, settled};
pub(crate) use entries::{enough_ms, slot_end_ms};
use head::MAX_STORED_MS;
use narrow::MAX_COUNT;
use wide::WideLog;

/// State of one key under a log.
///
/// Its [`LogHead`] is all that a denial reads. A log of one entry needs no allocation.
#[derive(Clone, Debug)]
pub struct Log(LogForm);

/// Form of a log. It changes with the size of its numbers.
#[derive(Clone, Debug)]
enum LogForm {
    Narrow(LogHead, Ring),
    Wide(Box<WideLog>),
}

/// Entry of a log: units, and the time at which they count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogEntry {
    /// End of the slot in which they were admitted.
    pub stamp_ms: u64,
    /// Number of units.
    pub count: u64,
}

impl Log {
    /// Empty history.
    pub const EMPTY: Self = Self(LogForm::Narrow(LogHead::EMPTY, Ring::EMPTY));

    /// History from its parts. Entries may be in any order; those without units are dropped.
    pub fn from_entries(last_ms: u64, entries: impl IntoIterator<Item = LogEntry>) -> Self {
        let last_ms = last_ms.min(MAX_STORED_MS);
        let mut wide = WideLog::new(last_ms, [], 0);
        for entry in entries {
            let stamp_ms = entry.stamp_ms.min(MAX_TIME_MS + MAX_WINDOW_MS);
            let count = entry.count.min(MAX_DEBT - wide.total());
            if count > 0 {
                add(&mut wide, last_ms, LogEntry { stamp_ms, count }, MAX_ENTRIES as usize);
            }
        }
        match wide.narrowed() {
            Some((head, ring)) => Self::from_narrow(head, ring),
            None => Self(LogForm::Wide(Box::new(wide))),
        }
    }

    /// History of one entry or none.
    #[inline(always)]
    pub fn from_entry(last_ms: u64, entry: Option<LogEntry>) -> Self {
        match LogHead::single_of(last_ms, entry) {
            Some(head) => Self::from_narrow(head, Ring::EMPTY),
            None => Self::from_entries(last_ms, entry),
        }
    }

    /// History from the two parts of its narrow form.
    #[inline(always)]
    pub fn from_narrow(head: LogHead, ring: Ring) -> Self {
        Self(LogForm::Narrow(head, ring))
    }

    /// The two parts of its narrow form, if its counts and stamps allow that.
    pub fn into_narrow(self) -> Result<(LogHead, Ring), Self> {
        match self.0 {
            LogForm::Narrow(head, ring) => Ok((head, ring)),
            LogForm::Wide(wide) => wide.narrowed().ok_or(Self(LogForm::Wide(wide))),
        }
    }

    /// True if it is in narrow form, and stays in it whatever the outcome of this attempt.
    pub fn fits_narrow(&self, limit: &Limit, attempt: Attempt) -> bool {
        match &self.0 {
            LogForm::Narrow(head, ring) => narrow::fits(head, ring, limit, attempt),
            LogForm::Wide(_) => false,
        }
    }

    /// True if it is in narrow form.
    pub fn is_narrow(&self) -> bool {
        matches!(self.0, LogForm::Narrow(..))
    }

    /// Time of the last write.
    #[inline(always)]
    pub fn last_ms(&self) -> u64 {
        match &self.0 {
            LogForm::Narrow(head, _) => head.last_ms(),
            LogForm::Wide(wide) => wide.last_ms(),
        }
    }

    /// Entries, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = LogEntry> + '_ {
        let (narrow, wide) = match &self.0 {
            LogForm::Narrow(head, ring) => (Some(ring.iter(head)), None),
            LogForm::Wide(wide) => (None, Some(wide.iter())),
        };
        narrow.into_iter().flatten().chain(wide.into_iter().flatten())
    }

    /// Units of all entries.
    pub(crate) fn total(&self) -> u64 {
        match &self.0 {
            LogForm::Narrow(head, _) => head.total(),
            LogForm::Wide(wide) => wide.total(),
        }
    }

    /// Number of entries.
    #[inline(always)]
    pub fn len(&self) -> usize {
        match &self.0 {
            LogForm::Narrow(head, _) => head.len(),
            LogForm::Wide(wide) => wide.len(),
        }
    }

    /// True without entries.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its only entry, if it has exactly one.
    #[inline(always)]
    pub fn single(&self) -> Option<LogEntry> {
        match &self.0 {
            LogForm::Narrow(head, _) => head.single(),
            LogForm::Wide(wide) if wide.len() == 1 => Some(wide.get(0)),
            LogForm::Wide(_) => None,
        }
    }

    /// True if the number of entries is within the bound of this limit: if all of them lie in its
    /// slots, or if the bound is the quota, since every entry has a unit. Entries of a finer
    /// resolution may exceed the number of slots.
    pub fn has_slots_of(&self, limit: &Limit) -> bool {
        let are_bounded_by_units = limit.max_entries() as u64 >= limit.quota();
        are_bounded_by_units
            || self.entries().all(|entry| slot_end_ms(limit, entry.stamp_ms) == entry.stamp_ms)
    }

    /// True if another entry may take memory: because no slot is free, or because counts or stamps
    /// outgrow the narrow form.
    #[inline(always)]
    pub(crate) fn may_grow(&self, limit: &Limit) -> bool {
        match &self.0 {
            LogForm::Narrow(head, ring) => narrow::may_grow(head, ring, limit),
            LogForm::Wide(wide) => wide.is_full() && !is_spent(wide.len(), limit),
        }
    }

    #[inline(always)]
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.0 {
            LogForm::Narrow(_, ring) => ring.heap_bytes(),
            LogForm::Wide(wide) => wide.heap_bytes(),
        }
    }

    pub(crate) fn settle(
        &mut self,
        limit: &Limit,
        receipt: &Receipt,
        cost: u64,
        now_ms: u64,
    ) -> SettleEffect {
        self.peek(limit, now_ms);
        if let LogForm::Narrow(head, ring) = &mut self.0 {
            let mut narrow = NarrowLog { head, ring };
            let Some((index, count)) = settled(&narrow, receipt, cost) else { return SettleEffect::Gone };
            if count <= MAX_COUNT && narrow.total() + count <= u64::from(u32::MAX) {
                settle(&mut narrow, (index, count), now_ms);
                return SettleEffect::Done;
            }
            self.0 = LogForm::Wide(widened(*head, ring));
        }
        let LogForm::Wide(wide) = &mut self.0 else { return SettleEffect::Gone };
        let Some(change) = settled(&**wide, receipt, cost) else { return SettleEffect::Gone };
        settle(&mut **wide, change, now_ms);
        SettleEffect::Done
    }
}

/// The same log in wide form, with the same capacity, and at least one free entry.
#[cold]
#[inline(never)]
fn widened(head: LogHead, ring: &Ring) -> Box<WideLog> {
    let capacity = ring.capacity().max(head.len() + 1).max(4);
    Box::new(WideLog::new(head.last_ms(), ring.iter(&head), capacity))
}

impl History for Log {
    /// Time at which to decide.
    type View = u64;

    #[inline(always)]
    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, u64) {
        match &mut self.0 {
            LogForm::Narrow(head, ring) if head.total() > MAX_COUNT && repairs(head, limit, now_ms) => {
                // A repair merges many entries into one, which may need the wide form.
                let mut wide = widened(*head, ring);
                let view = wide.peek(limit, now_ms);
                self.0 = LogForm::Wide(wide);
                view
            }
            LogForm::Narrow(head, ring) => NarrowLog { head, ring }.peek(limit, now_ms),
            LogForm::Wide(wide) => {
                let view = wide.peek(limit, now_ms);
                if wide.len() == 0 {
                    *self = Self::EMPTY;
                }
                view
            }
        }
    }

    #[inline(always)]
    fn view(&self, _: &Limit, now_ms: u64) -> u64 {
        self.last_ms().max(now_ms)
    }

    #[inline(always)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, at_ms: u64) -> u64 {
        match &self.0 {
            LogForm::Narrow(head, _) => narrow::reset_after_ms(head, limit, now_ms),
            LogForm::Wide(wide) => wide.reset_after_ms(limit, now_ms, at_ms),
        }
    }

    #[inline(always)]
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, at_ms: u64) -> u64 {
        match &self.0 {
            LogForm::Narrow(head, ring) => narrow::wait_ms(head, ring, limit, attempt),
            LogForm::Wide(wide) => wide.wait_ms(limit, attempt, at_ms),
        }
    }

    #[inline(always)]
    fn record(&mut self, limit: &Limit, attempt: Attempt, at_ms: u64) -> (u64, u64) {
        match &mut self.0 {
            LogForm::Narrow(head, ring) => {
                let mut narrow = NarrowLog { head, ring };
                if narrow.fits(limit, attempt) {
                    return narrow.record(limit, attempt, at_ms);
                }
                let mut wide = widened(*narrow.head, narrow.ring);
                let recorded = wide.record(limit, attempt, at_ms);
                self.0 = LogForm::Wide(wide);
                recorded
            }
            LogForm::Wide(wide) => wide.record(limit, attempt, at_ms),
        }
    }

    fn give_back(&mut self, limit: &Limit, attempt: Attempt, at_ms: u64) {
        match &mut self.0 {
            LogForm::Narrow(head, ring) => NarrowLog { head, ring }.give_back(limit, attempt, at_ms),
            LogForm::Wide(wide) => wide.give_back(limit, attempt, at_ms),
        }
    }
}

#[inline(always)]
fn repairs(head: &LogHead, limit: &Limit, now_ms: u64) -> bool {
    matches!(read(now_ms, head.last_ms(), limit.window_ms()), ClockReading::Repair(_))
}
