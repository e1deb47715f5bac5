//! Counter pair: two counters of one subject with one timestamp, and decisions on them in place.

use slidegate_core::{Attempt, Counter, Decision, FastView, Limit, State, decide_pair};

use super::cell::Cell;

/// Storage of two counters.
pub(super) trait CounterPair: Sized {
    /// Maximum count.
    const MOST: u64;

    fn unpack_both(&self) -> (Counter, Counter);

    /// Pair from the last write and the counts, current and previous in turn, none of them too
    /// large.
    fn from_counts(last_ms: u64, counts: [u64; 4], denied: bool) -> Self;

    /// Adds to both current counts, which do not overflow.
    fn add_to_both(&mut self, now_ms: u64, cost: u64);

    /// Cell with the time of the last write and the denial mark.
    fn cell_mut(&mut self) -> &mut Cell;

    /// Pair of two counters; `None` if they were last written at different times, as after a clock
    /// step, or if a count is too large.
    #[inline(always)]
    fn pack_both(one: &Counter, two: &Counter, denied: bool) -> Option<Self> {
        let counts = [one.current(), one.previous(), two.current(), two.previous()];
        if one.last_ms() != two.last_ms() || counts.iter().any(|count| *count > Self::MOST) {
            return None;
        }
        Some(Self::from_counts(one.last_ms(), counts, denied))
    }

    fn unpack_states(&self) -> [State; 2] {
        let (one, two) = self.unpack_both();
        [State::Counter(one), State::Counter(two)]
    }
}

/// Pair in one cell, with 16 bits for each count.
impl CounterPair for Cell {
    const MOST: u64 = u16::MAX as u64;

    #[inline(always)]
    fn unpack_both(&self) -> (Counter, Counter) {
        let (last_ms, payload) = (self.last_ms(), self.payload());
        let count = |nth: u32| payload >> (16 * nth) & Self::MOST;
        (Counter::new(last_ms, count(1), count(0)), Counter::new(last_ms, count(3), count(2)))
    }

    #[inline(always)]
    fn from_counts(last_ms: u64, [a, b, c, d]: [u64; 4], denied: bool) -> Self {
        Self::new(last_ms, a | b << 16 | c << 32 | d << 48, denied)
    }

    #[inline(always)]
    fn add_to_both(&mut self, now_ms: u64, cost: u64) {
        self.add(now_ms, cost | cost << 32);
    }

    #[inline(always)]
    fn cell_mut(&mut self) -> &mut Cell {
        self
    }
}

/// Pair with 32 bits for each count: a cell for the first, and the counts of the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct WidePair {
    first: Cell,
    second: [u8; 8],
}

impl WidePair {
    /// Whether the last charge was denied.
    pub(super) fn denied(&self) -> bool {
        self.first.denied()
    }
}

impl CounterPair for WidePair {
    const MOST: u64 = u32::MAX as u64;

    #[inline(always)]
    fn unpack_both(&self) -> (Counter, Counter) {
        let counter = |payload: u64| Counter::new(self.first.last_ms(), payload >> 32, payload & Self::MOST);
        (counter(self.first.payload()), counter(u64::from_le_bytes(self.second)))
    }

    #[inline(always)]
    fn from_counts(last_ms: u64, [a, b, c, d]: [u64; 4], denied: bool) -> Self {
        Self { first: Cell::new(last_ms, a | b << 32, denied), second: (c | d << 32).to_le_bytes() }
    }

    #[inline(always)]
    fn add_to_both(&mut self, now_ms: u64, cost: u64) {
        self.first.add(now_ms, cost);
        self.second = (u64::from_le_bytes(self.second) + cost).to_le_bytes();
    }

    #[inline(always)]
    fn cell_mut(&mut self) -> &mut Cell {
        &mut self.first
    }
}

/// Fast views of both counters, and whether the cost was charged; see
/// [`charge_fast`](super::cell::charge_fast).
#[inline(always)]
pub(super) fn charge_both_fast<P: CounterPair>(
    limits: (&Limit, &Limit),
    pair: &mut P,
    (now_ms, cost): (u64, u64),
    elapsed_ms: (u64, u64),
) -> Option<((FastView, FastView), bool)> {
    let (one, two) = pair.unpack_both();
    let one = one.fast_view(limits.0, now_ms, elapsed_ms.0)?;
    let two = two.fast_view(limits.1, now_ms, elapsed_ms.1)?;
    let charged = cost != 0 && cost <= one.remaining(limits.0) && cost <= two.remaining(limits.1);
    if charged {
        if one.current().max(two.current()) + cost > P::MOST {
            return None;
        }
        pair.add_to_both(now_ms, cost);
    } else if cost != 0 {
        pair.cell_mut().deny();
    }
    Some(((one, two), charged))
}

/// Decides under both limits; `None`, and nothing changed, if the result does not fit.
#[inline(never)]
pub(super) fn decide_both<P: CounterPair>(
    limits: (&Limit, &Limit),
    pair: &mut P,
    (now_ms, cost): (u64, u64),
) -> Option<[Decision; 2]> {
    let (mut one, mut two) = pair.unpack_both();
    let attempt = Attempt { now_ms, cost, holder: 0 };
    let (decisions, charged) = decide_pair((&mut one, &mut two), limits, attempt);
    let denied = if cost == 0 { pair.cell_mut().denied() } else { !charged };
    *pair = P::pack_both(&one, &two, denied)?;
    Some(decisions)
}
