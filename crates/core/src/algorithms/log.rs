//! Sliding window log: every admitted cost is remembered until it has left the window.
//!
//! A cost admitted at t is stamped with the end of its slot, so it is never forgotten early and at most
//! resolution − 1 ms late; costs of one slot share an entry, so the log has at most
//! ⌈window / resolution⌉ + 2. The resolution may change at any time: then entries of slots that were longer may
//! lie ahead, and what comes goes before them, at the end of its own slot.

mod entries;
mod head;
mod narrow;
mod ring;
mod wide;

use alloc::boxed::Box;

pub use head::Head;
pub use narrow::Narrow;
pub use ring::Ring;

use crate::history::{Attempt, History};
use crate::limit::{Limit, MAX_ENTRIES, MAX_WINDOW_MS};
use crate::settle::{MAX_DEBT, Receipt, Settled};
use crate::time::{MAX_TIME_MS, Reading, read};
use entries::{Entries, add, is_spent, settle, settled, slot_end_ms};
use head::MAX_KEPT_MS;
use narrow::MAX_COUNT;
use wide::Wide;

/// The history of one key under one log limit.
///
/// Its [`Head`] is all that a refusal reads. A log of one entry needs no allocation.
#[derive(Clone, Debug)]
pub struct Log(Form);

/// Apart from [`Log`], which goes from one to the other as its numbers demand.
#[derive(Clone, Debug)]
enum Form {
    Narrow(Head, Ring),
    Wide(Box<Wide>),
}

/// Units that were admitted together, and the time at which they are taken to have come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The end of the slot in which they came.
    pub stamp_ms: u64,
    /// How many.
    pub count: u64,
}

impl Log {
    /// A history with nothing in it.
    pub const EMPTY: Self = Self(Form::Narrow(Head::EMPTY, Ring::EMPTY));

    /// A history from its parts; entries out of order or without units are brought into order.
    pub fn from_entries(last_ms: u64, entries: impl IntoIterator<Item = Entry>) -> Self {
        let last_ms = last_ms.min(MAX_KEPT_MS);
        let mut wide = Wide::new(last_ms, [], 0);
        for entry in entries {
            let stamp_ms = entry.stamp_ms.min(MAX_TIME_MS + MAX_WINDOW_MS);
            let count = entry.count.min(MAX_DEBT - wide.total());
            if count > 0 {
                add(&mut wide, last_ms, Entry { stamp_ms, count }, MAX_ENTRIES as usize);
            }
        }
        match wide.narrowed() {
            Some((head, ring)) => Self::from_narrow(head, ring),
            None => Self(Form::Wide(Box::new(wide))),
        }
    }

    /// A history of one entry or none.
    #[inline(always)]
    pub fn from_entry(last_ms: u64, entry: Option<Entry>) -> Self {
        match Head::single_of(last_ms, entry) {
            Some(head) => Self::from_narrow(head, Ring::EMPTY),
            None => Self::from_entries(last_ms, entry),
        }
    }

    /// A history that was kept as its two parts.
    #[inline(always)]
    pub fn from_narrow(head: Head, ring: Ring) -> Self {
        Self(Form::Narrow(head, ring))
    }

    /// The history as two parts, if its counts and stamps allow that.
    pub fn into_narrow(self) -> Result<(Head, Ring), Self> {
        match self.0 {
            Form::Narrow(head, ring) => Ok((head, ring)),
            Form::Wide(wide) => wide.narrowed().ok_or(Self(Form::Wide(wide))),
        }
    }

    /// Whether this attempt leaves it, or makes it, a history that can be kept as two parts.
    pub fn fits_narrow(&self, limit: &Limit, attempt: Attempt) -> bool {
        match &self.0 {
            Form::Narrow(head, ring) => narrow::fits(head, ring, limit, attempt),
            Form::Wide(_) => false,
        }
    }

    /// Whether it is kept as two parts.
    pub fn is_narrow(&self) -> bool {
        matches!(self.0, Form::Narrow(..))
    }

    /// When it was last written.
    #[inline(always)]
    pub fn last_ms(&self) -> u64 {
        match &self.0 {
            Form::Narrow(head, _) => head.last_ms(),
            Form::Wide(wide) => wide.last_ms(),
        }
    }

    /// The time at which to decide, after a look.
    #[inline(always)]
    pub(crate) fn at_ms(&self, now_ms: u64) -> u64 {
        self.last_ms().max(now_ms)
    }

    /// What it remembers, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let (narrow, wide) = match &self.0 {
            Form::Narrow(head, ring) => (Some(ring.iter(head)), None),
            Form::Wide(wide) => (None, Some(wide.iter())),
        };
        narrow.into_iter().flatten().chain(wide.into_iter().flatten())
    }

    /// How many entries it remembers.
    #[inline(always)]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Narrow(head, _) => head.len(),
            Form::Wide(wide) => wide.len(),
        }
    }

    /// Whether it remembers nothing.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its only entry, where it has just one.
    #[inline(always)]
    pub fn single(&self) -> Option<Entry> {
        match &self.0 {
            Form::Narrow(head, _) => head.single(),
            Form::Wide(wide) if wide.len() == 1 => Some(wide.get(0)),
            Form::Wide(_) => None,
        }
    }

    /// Whether all entries lie in slots of this limit. Where slots bound their number, finer ones of before may be just as many, and
    /// the next is one more; where units bound it, there is none more than there are units.
    pub fn has_slots_of(&self, limit: &Limit) -> bool {
        let are_bounded_by_units = limit.max_entries() as u64 >= limit.quota();
        are_bounded_by_units
            || self.entries().all(|entry| slot_end_ms(limit, entry.stamp_ms) == entry.stamp_ms)
    }

    /// Whether another entry may take memory: for want of a place, or because counts or stamps outgrow theirs.
    #[inline(always)]
    pub(crate) fn may_grow(&self, limit: &Limit) -> bool {
        match &self.0 {
            Form::Narrow(head, ring) => narrow::may_grow(head, ring, limit),
            Form::Wide(wide) => wide.is_full() && !is_spent(wide.len(), limit),
        }
    }

    #[inline(always)]
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Narrow(_, ring) => ring.heap_bytes(),
            Form::Wide(wide) => wide.heap_bytes(),
        }
    }

    pub(crate) fn settle(&mut self, limit: &Limit, receipt: &Receipt, cost: u64, now_ms: u64) -> Settled {
        self.look(limit, now_ms);
        if let Form::Narrow(head, ring) = &mut self.0 {
            let mut narrow = Narrow { head, ring };
            let Some((index, count)) = settled(&narrow, receipt, cost) else { return Settled::Gone };
            if count <= MAX_COUNT && narrow.total() + count <= u64::from(u32::MAX) {
                settle(&mut narrow, (index, count), now_ms);
                return Settled::Done;
            }
            self.0 = Form::Wide(widened(*head, ring));
        }
        let Form::Wide(wide) = &mut self.0 else { return Settled::Gone };
        let Some(change) = settled(&**wide, receipt, cost) else { return Settled::Gone };
        settle(&mut **wide, change, now_ms);
        Settled::Done
    }
}

/// The same log in wide form, with as many places, and one for the entry that is to come.
#[cold]
#[inline(never)]
fn widened(head: Head, ring: &Ring) -> Box<Wide> {
    let places = ring.capacity().max(head.len() + 1).max(4);
    Box::new(Wide::new(head.last_ms(), ring.iter(&head), places))
}

impl History for Log {
    /// The time at which to decide.
    type View = u64;

    #[inline(always)]
    fn look(&mut self, limit: &Limit, now_ms: u64) -> (u64, u64) {
        match &mut self.0 {
            Form::Narrow(head, ring) if head.total() > MAX_COUNT && repairs(head, limit, now_ms) => {
                // A repair makes one entry of many, which may need a wide place.
                let mut wide = widened(*head, ring);
                let seen = wide.look(limit, now_ms);
                self.0 = Form::Wide(wide);
                seen
            }
            Form::Narrow(head, ring) => Narrow { head, ring }.look(limit, now_ms),
            Form::Wide(wide) => {
                let seen = wide.look(limit, now_ms);
                if wide.len() == 0 {
                    *self = Self::EMPTY;
                }
                seen
            }
        }
    }

    #[inline(always)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, at_ms: u64) -> u64 {
        match &self.0 {
            Form::Narrow(head, _) => narrow::reset_after_ms(head, limit, now_ms),
            Form::Wide(wide) => wide.reset_after_ms(limit, now_ms, at_ms),
        }
    }

    #[inline(always)]
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, at_ms: u64) -> u64 {
        match &self.0 {
            Form::Narrow(head, ring) => narrow::wait_ms(head, ring, limit, attempt),
            Form::Wide(wide) => wide.wait_ms(limit, attempt, at_ms),
        }
    }

    #[inline(always)]
    fn record(&mut self, limit: &Limit, attempt: Attempt, at_ms: u64) -> (u64, u64) {
        match &mut self.0 {
            Form::Narrow(head, ring) => {
                let mut narrow = Narrow { head, ring };
                if narrow.fits(limit, attempt) {
                    return narrow.record(limit, attempt, at_ms);
                }
                let mut wide = widened(*narrow.head, narrow.ring);
                let recorded = wide.record(limit, attempt, at_ms);
                self.0 = Form::Wide(wide);
                recorded
            }
            Form::Wide(wide) => wide.record(limit, attempt, at_ms),
        }
    }

    fn give_back(&mut self, limit: &Limit, attempt: Attempt, at_ms: u64) {
        match &mut self.0 {
            Form::Narrow(head, ring) => Narrow { head, ring }.give_back(limit, attempt, at_ms),
            Form::Wide(wide) => wide.give_back(limit, attempt, at_ms),
        }
    }
}

#[inline(always)]
fn repairs(head: &Head, limit: &Limit, now_ms: u64) -> bool {
    matches!(read(now_ms, head.last_ms(), limit.window_ms()), Reading::Repair(_))
}
