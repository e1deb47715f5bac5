//! Cell: a small history in 14 bytes, and decisions on it in place.

use slidegate_core::{
    Attempt, Counter, Decision, FastView, Fixed, Gcra, History, Limit, LimitKind, Log, LogEntry, Outcome,
    State, decide_one, decide_pair,
};
use smallvec::{SmallVec, smallvec};

use super::counter_pair::CounterPair;

/// Small history: the time of the last write in 47 bits, a denial mark, and 64 bits for the rest.
/// In bytes, so that it needs no alignment; in as many parts as it takes instructions to load them.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Cell {
    when_low: [u8; 4],
    when_high: [u8; 2],
    payload: [u8; 8],
}

/// Bit beside the time: the subject was denied since.
const DENIED: u64 = 1 << 47;
/// Maximum count of a counter.
pub(super) const COUNT: u64 = u32::MAX as u64;

impl Cell {
    #[inline(always)]
    pub(super) fn new(last_ms: u64, payload: u64, denied: bool) -> Self {
        let bits = last_ms | if denied { DENIED } else { 0 };
        Self {
            when_low: (bits as u32).to_le_bytes(),
            when_high: ((bits >> 32) as u16).to_le_bytes(),
            payload: payload.to_le_bytes(),
        }
    }

    #[inline(always)]
    fn bits(&self) -> u64 {
        let (low, high) = (u32::from_le_bytes(self.when_low), u16::from_le_bytes(self.when_high));
        u64::from(low) | u64::from(high) << 32
    }

    #[inline(always)]
    pub(super) fn last_ms(&self) -> u64 {
        self.bits() & (DENIED - 1)
    }

    #[inline(always)]
    pub(super) fn denied(&self) -> bool {
        self.bits() & DENIED != 0
    }

    /// Adds units to the current counts, which do not overflow, and clears the denial mark.
    #[inline(always)]
    pub(super) fn add(&mut self, now_ms: u64, units: u64) {
        *self = Self::new(now_ms, self.payload() + units, false);
    }

    #[inline(always)]
    pub(super) fn deny(&mut self) {
        // Mostly it was denied before. A partial write would stall the next decision, which loads
        // all of it.
        if !self.denied() {
            self.when_high[1] |= (DENIED >> 40) as u8;
        }
    }

    #[inline(always)]
    pub(super) fn payload(&self) -> u64 {
        u64::from_le_bytes(self.payload)
    }

    #[inline(always)]
    pub(super) fn unpack<H: Pack>(&self, limit: &Limit) -> H {
        H::unpack(limit, self.last_ms(), self.payload())
    }

    /// All states of a subject in one cell, if they fit.
    pub(super) fn of_all(states: &[&State], denied: bool) -> Option<Self> {
        match states {
            [one] => one.pack().map(|(last_ms, payload)| Self::new(last_ms, payload, denied)),
            [State::Counter(one), State::Counter(two)] => Self::pack_both(one, two, denied),
            _ => None,
        }
    }

    /// States that [`Cell::of_all`] packed, under these limits.
    pub(super) fn unpack_all(&self, limits: &[Limit]) -> SmallVec<[State; 1]> {
        match limits {
            [limit] => smallvec![self.unpack(limit)],
            _ => self.unpack_states().into_iter().collect(),
        }
    }
}

/// History that fits a cell while it is small.
pub(super) trait Pack: History + Sized {
    /// History from its packed form.
    fn unpack(limit: &Limit, last_ms: u64, payload: u64) -> Self;

    /// Time of the last write and 64 bits for the rest, if that is enough.
    fn pack(&self) -> Option<(u64, u64)>;
}

#[inline(always)]
fn halves(payload: u64) -> (u64, u64) {
    (payload & 0xffff_ffff, payload >> 32)
}

#[inline(always)]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Pack for Counter {
    #[inline(always)]
    fn unpack(_: &Limit, last_ms: u64, payload: u64) -> Self {
        let (current, previous) = halves(payload);
        Self::new(last_ms, previous, current)
    }

    #[inline(always)]
    fn pack(&self) -> Option<(u64, u64)> {
        if self.current().max(self.previous()) > COUNT {
            return None;
        }
        Some((self.last_ms(), joined(self.current() as u32, self.previous() as u32)))
    }
}

/// Log of one entry, with its stamp as the signed distance from the last write.
impl Pack for Log {
    #[inline(always)]
    fn unpack(_: &Limit, last_ms: u64, payload: u64) -> Self {
        let (offset, count) = halves(payload);
        let stamp_ms = last_ms.wrapping_add_signed(i64::from(offset as u32 as i32));
        Self::from_entry(last_ms, (count != 0).then_some(LogEntry { stamp_ms, count }))
    }

    #[inline(always)]
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
    #[inline(always)]
    fn unpack(_: &Limit, last_ms: u64, current: u64) -> Self {
        Self { last_ms, current }
    }

    #[inline(always)]
    fn pack(&self) -> Option<(u64, u64)> {
        Some((self.last_ms, self.current))
    }
}

/// Debt that was written under the quota of the limit with which it is packed.
impl Pack for Gcra {
    #[inline(always)]
    fn unpack(limit: &Limit, last_ms: u64, debt: u64) -> Self {
        Self { last_ms, debt, quota: if debt == 0 { 0 } else { limit.quota() } }
    }

    #[inline(always)]
    fn pack(&self) -> Option<(u64, u64)> {
        Some((self.last_ms, self.debt))
    }
}

impl Pack for State {
    fn unpack(limit: &Limit, last_ms: u64, payload: u64) -> Self {
        match limit.kind() {
            LimitKind::Counter => Self::Counter(Pack::unpack(limit, last_ms, payload)),
            LimitKind::Log { .. } => Self::Log(Pack::unpack(limit, last_ms, payload)),
            LimitKind::Fixed => Self::Fixed(Pack::unpack(limit, last_ms, payload)),
            LimitKind::Gcra { .. } => Self::Gcra(Pack::unpack(limit, last_ms, payload)),
            LimitKind::InFlight => Self::new(limit),
        }
    }

    fn pack(&self) -> Option<(u64, u64)> {
        match self {
            Self::Counter(counter) => counter.pack(),
            Self::Log(log) => log.pack(),
            Self::Fixed(fixed) => fixed.pack(),
            Self::Gcra(gcra) => gcra.pack(),
            Self::InFlight(_) | Self::LeaseLog(_) => None,
        }
    }
}

/// Fast view of a counter, and whether the cost was charged to its cell. `None`, and nothing
/// changed, if there is no fast view, or if the result does not fit the cell. The answer can be
/// computed later.
#[inline(always)]
pub(super) fn charge_fast(
    limit: &Limit,
    cell: &mut Cell,
    (now_ms, cost): (u64, u64),
    elapsed_ms: u64,
) -> Option<(FastView, bool)> {
    let fast_view = cell.unpack::<Counter>(limit).fast_view(limit, now_ms, elapsed_ms)?;
    let charged = cost != 0 && cost <= fast_view.remaining(limit);
    if charged {
        if fast_view.current() + cost > COUNT {
            return None;
        }
        cell.add(now_ms, cost);
    } else if cost != 0 {
        cell.deny();
    }
    Some((fast_view, charged))
}

/// Decides under one limit of any kind on its cell; `None`, and nothing changed, if the result does
/// not fit.
#[inline(never)]
pub(super) fn decide_cell(limit: &Limit, cell: &mut Cell, attempt_at: (u64, u64)) -> Option<Decision> {
    match limit.kind() {
        LimitKind::Counter => decide_as::<Counter>(limit, cell, attempt_at),
        LimitKind::Log { .. } => decide_as::<Log>(limit, cell, attempt_at),
        LimitKind::Fixed => decide_as::<Fixed>(limit, cell, attempt_at),
        LimitKind::Gcra { .. } => decide_as::<Gcra>(limit, cell, attempt_at),
        LimitKind::InFlight => None,
    }
}

fn decide_as<H: Pack>(limit: &Limit, cell: &mut Cell, (now_ms, cost): (u64, u64)) -> Option<Decision> {
    let mut history: H = cell.unpack(limit);
    let decision = decide_one(&mut history, limit, Attempt { now_ms, cost, holder: 0 });
    let (last_ms, payload) = history.pack()?;
    let denied = if cost == 0 { cell.denied() } else { decision.outcome != Outcome::Fits };
    *cell = Cell::new(last_ms, payload, denied);
    Some(decision)
}

/// [`decide_cell`] under two limits.
#[inline(never)]
pub(super) fn decide_two_cells(
    limits: (&Limit, &Limit),
    (first, second): (&mut Cell, &mut Cell),
    (now_ms, cost): (u64, u64),
) -> Option<[Decision; 2]> {
    let (mut one, mut two): (State, State) = (first.unpack(limits.0), second.unpack(limits.1));
    let attempt = Attempt { now_ms, cost, holder: 0 };
    let (decisions, charged) = decide_pair((&mut one, &mut two), limits, attempt);
    let (one, two) = (one.pack()?, two.pack()?);
    let denied = if cost == 0 { first.denied() } else { !charged };
    *first = Cell::new(one.0, one.1, denied);
    *second = Cell::new(two.0, two.1, false);
    Some(decisions)
}
