//! One subject in 32 bytes: its fingerprint, and its state packed into 16 bytes or on the heap.

use slidegate_core::{
    Attempt, Counter, Decision, Entry, Fixed, Gcra, History, Kind, Limit, Log, Outcome, State, decide_one,
};

use super::subject::Subject;
use crate::fingerprint::Fingerprint;

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) fingerprint: Fingerprint,
    pub(super) holding: Holding,
}

/// What a slot holds.
#[derive(Debug)]
pub(super) enum Holding {
    /// One limit whose state is small: most subjects, most of the time.
    Packed { spec: u8, when: When, payload: u64 },
    /// Several limits, longer logs, large counts, spent permits.
    Heap(Box<Subject>),
}

// A place in the table costs nothing on top: emptiness is one more value of the tag.
const _: () = assert!(size_of::<Option<Slot>>() == 32);

/// The time of the last write in 47 bits, and whether the subject was denied since.
#[derive(Clone, Copy, Debug)]
pub(super) struct When([u16; 3]);

const DENIED: u64 = 1 << 47;

impl When {
    #[inline]
    pub(super) fn new(last_ms: u64, denied: bool) -> Self {
        let bits = last_ms | if denied { DENIED } else { 0 };
        Self([bits as u16, (bits >> 16) as u16, (bits >> 32) as u16])
    }

    #[inline]
    fn bits(self) -> u64 {
        let [low, middle, high] = self.0;
        u64::from(low) | u64::from(middle) << 16 | u64::from(high) << 32
    }

    #[inline]
    pub(super) fn last_ms(self) -> u64 {
        self.bits() & (DENIED - 1)
    }

    #[inline]
    pub(super) fn denied(self) -> bool {
        self.bits() & DENIED != 0
    }
}

/// A history that can be put into a slot while it is small.
pub(super) trait Pack: History + Sized {
    /// What was packed.
    fn unpack(limit: &Limit, last_ms: u64, payload: u64) -> Self;

    /// The time of the last write and 64 bits for the rest, if that is enough.
    fn pack(&self) -> Option<(u64, u64)>;
}

#[inline]
fn halves(payload: u64) -> (u64, u64) {
    (payload & 0xffff_ffff, payload >> 32)
}

#[inline]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Pack for Counter {
    #[inline]
    fn unpack(limit: &Limit, last_ms: u64, payload: u64) -> Self {
        let (current, previous) = halves(payload);
        Self::new(limit, last_ms, previous, current)
    }

    #[inline]
    fn pack(&self) -> Option<(u64, u64)> {
        if (self.current() | self.previous()) >> 32 != 0 {
            return None;
        }
        Some((self.last_ms(), joined(self.current() as u32, self.previous() as u32)))
    }
}

/// A log of one entry, its stamp kept as the signed distance from the last write.
impl Pack for Log {
    #[inline]
    fn unpack(_: &Limit, last_ms: u64, payload: u64) -> Self {
        let (offset, count) = halves(payload);
        let stamp_ms = last_ms.wrapping_add_signed(i64::from(offset as u32 as i32));
        Self::from_entry(last_ms, (count != 0).then_some(Entry { stamp_ms, count }))
    }

    #[inline]
    fn pack(&self) -> Option<(u64, u64)> {
        let last_ms = self.last_ms();
        let Some(entry) = self.single() else {
            return self.is_empty().then_some((last_ms, 0));
        };
        let offset = i32::try_from(entry.stamp_ms.checked_signed_diff(last_ms)?).ok()?;
        Some((last_ms, joined(offset as u32, u32::try_from(entry.count).ok()?)))
    }
}

impl Pack for Fixed {
    #[inline]
    fn unpack(_: &Limit, last_ms: u64, current: u64) -> Self {
        Self { last_ms, current }
    }

    #[inline]
    fn pack(&self) -> Option<(u64, u64)> {
        Some((self.last_ms, self.current))
    }
}

impl Pack for Gcra {
    #[inline]
    fn unpack(_: &Limit, last_ms: u64, debt: u64) -> Self {
        Self { last_ms, debt }
    }

    #[inline]
    fn pack(&self) -> Option<(u64, u64)> {
        Some((self.last_ms, self.debt))
    }
}

impl Pack for State {
    fn unpack(limit: &Limit, last_ms: u64, payload: u64) -> Self {
        match limit.kind() {
            Kind::Counter => Self::Counter(Pack::unpack(limit, last_ms, payload)),
            Kind::Log { .. } => Self::Log(Pack::unpack(limit, last_ms, payload)),
            Kind::Fixed => Self::Fixed(Pack::unpack(limit, last_ms, payload)),
            Kind::Gcra { .. } => Self::Gcra(Pack::unpack(limit, last_ms, payload)),
            // Never packed: it has a holder as soon as it has anything.
            Kind::InFlight => Self::new(limit),
        }
    }

    fn pack(&self) -> Option<(u64, u64)> {
        match self {
            Self::Counter(counter) => counter.pack(),
            Self::Log(log) => log.pack(),
            Self::Fixed(fixed) => fixed.pack(),
            Self::Gcra(gcra) => gcra.pack(),
            Self::InFlight(_) => None,
        }
    }
}

/// Decides on a packed history; `None`, and nothing changed, if the new one does not fit into the slot.
#[inline(never)]
pub(super) fn decide_packed(
    limit: &Limit,
    packed: (&mut When, &mut u64),
    asked: (u64, u64),
) -> Option<Decision> {
    match limit.kind() {
        Kind::Counter => decide_as::<Counter>(limit, packed, asked),
        Kind::Log { .. } => decide_as::<Log>(limit, packed, asked),
        Kind::Fixed => decide_as::<Fixed>(limit, packed, asked),
        Kind::Gcra { .. } => decide_as::<Gcra>(limit, packed, asked),
        Kind::InFlight => None,
    }
}

/// [`decide_packed`] for one kind.
#[inline(always)]
pub(super) fn decide_as<H: Pack>(
    limit: &Limit,
    (when, payload): (&mut When, &mut u64),
    (now_ms, cost): (u64, u64),
) -> Option<Decision> {
    let mut history = H::unpack(limit, when.last_ms(), *payload);
    let decision = decide_one(&mut history, limit, Attempt { now_ms, cost, holder: 0 });
    let (last_ms, packed) = history.pack()?;
    *payload = packed;
    *when = if cost != 0 && decision.outcome == Outcome::Fits {
        When::new(last_ms, false)
    } else {
        When::new(last_ms, cost != 0 || when.denied())
    };
    Some(decision)
}
