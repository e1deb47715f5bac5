//! The naive oracle: a list of everything that was admitted, exact arithmetic in 128 bits, and a
//! search wherever the core solves. It shares nothing with the core but the types of its questions
//! and answers.

use slidegate_core::{Decision, Limit, LimitKind, Outcome, Receipt, SettleEffect};

const DAY_MS: u64 = 86_400_000;

/// Everything one key was admitted under one limit and that may still count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    last_ms: u64,
    admitted: Vec<Admitted>,
    meter: Meter,
}

/// What a meter was last written: units times window that are owed, and under which quota.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    owed: u128,
    quota: u128,
}

#[derive(Clone, Debug)]
struct Admitted {
    /// The time at which it is taken to have come.
    stamp_ms: u64,
    /// The stamp that its receipt names.
    receipt_ms: u64,
    cost: u128,
    id: u64,
}

impl Admitted {
    /// Nothing, at a time.
    fn at(stamp_ms: u64) -> Self {
        Self { stamp_ms, receipt_ms: 0, cost: 0, id: 0 }
    }
}

impl Oracle {
    /// Decides a cost; `id` names the admission.
    pub(crate) fn decide(&mut self, limit: &Limit, cost: u64, now_ms: u64, id: u64) -> Decision {
        self.peek(limit, now_ms);
        let before = self.remaining(limit, now_ms);
        let outcome = if cost <= before {
            Outcome::Fits
        } else if cost > ceiling(limit) {
            Outcome::Never
        } else {
            Outcome::RetryAfter(
                self.first(now_ms, limit, |oracle, at_ms| oracle.remaining(limit, at_ms) >= cost),
            )
        };
        let mut stamp_ms = 0;
        if cost > 0 && outcome == Outcome::Fits {
            stamp_ms = self.record(limit, cost, now_ms, id);
        }
        Decision {
            outcome,
            remaining: self.remaining(limit, now_ms),
            reset_after_ms: self.first(now_ms, limit, |oracle, at_ms| oracle.load(limit, at_ms) == 0),
            stamp_ms,
        }
    }

    /// Replaces the cost of an admission. `None` where a repair has moved it: then its receipt
    /// names a stamp at which it no longer is, and what the core finds there is not defined.
    pub(crate) fn settle(
        &mut self,
        limit: &Limit,
        receipt: &Receipt,
        cost: u64,
        now_ms: u64,
    ) -> Option<SettleEffect> {
        self.peek(limit, now_ms);
        let moved = |a: &Admitted| a.id == receipt.holder && a.stamp_ms != a.receipt_ms;
        if self.admitted.iter().any(moved) {
            return None;
        }
        let (at_ms, window_ms) = (self.at_ms(limit, now_ms), limit.window_ms());
        // Units do not have names: what was recorded is taken off what came at the same stamp, or
        // in the same window.
        let is_there = |a: &&mut Admitted| match limit.kind() {
            LimitKind::InFlight => a.id == receipt.holder,
            LimitKind::Counter | LimitKind::Fixed => {
                in_view(limit, a.stamp_ms, at_ms) && a.stamp_ms / window_ms == receipt.stamp_ms / window_ms
            }
            LimitKind::Log { .. } | LimitKind::Gcra { .. } => a.stamp_ms == receipt.stamp_ms,
        };
        let found: Vec<&mut Admitted> = self.admitted.iter_mut().filter(is_there).collect();
        let mut left = u128::from(if limit.kind() == LimitKind::InFlight { u64::MAX } else { receipt.cost });
        let mut instead = u128::from(cost);
        if found.is_empty() {
            return Some(SettleEffect::Gone);
        }
        for admitted in found {
            let returned = left.min(admitted.cost);
            left -= returned;
            admitted.cost = admitted.cost - returned + std::mem::take(&mut instead);
        }
        self.last_ms = self.last_ms.max(now_ms);
        self.admitted.retain(|a| a.cost > 0);
        Some(SettleEffect::Done)
    }

    /// Takes units off what was admitted and counts, the oldest first; answers as a look does.
    pub(crate) fn give_back(&mut self, limit: &Limit, units: u64, now_ms: u64) -> Decision {
        self.peek(limit, now_ms);
        // At once no more than all debts of a key together may be.
        let units = units.min(1 << 52);
        let (at_ms, mut left) = (self.at_ms(limit, now_ms), u128::from(units));
        match limit.kind() {
            LimitKind::InFlight => {}
            LimitKind::Gcra { .. } => {
                let owed = self.debt(limit, now_ms.max(self.last_ms));
                if left > 0 && owed > 0 {
                    // What lies ahead of now, where the clock stepped back, is not given back.
                    let least = u128::from(self.last_ms > now_ms);
                    let owed = owed.saturating_sub(left * u128::from(limit.window_ms())).max(least);
                    self.write_meter(limit, owed, now_ms.max(self.last_ms));
                }
            }
            LimitKind::Log { .. } | LimitKind::Counter | LimitKind::Fixed => {
                for admitted in self.admitted.iter_mut().filter(|a| in_view(limit, a.stamp_ms, at_ms)) {
                    let returned = left.min(admitted.cost);
                    left -= returned;
                    admitted.cost -= returned;
                }
                if left < u128::from(units) {
                    self.last_ms = at_ms;
                    self.admitted.retain(|a| a.cost > 0);
                }
            }
        }
        self.decide(limit, 0, now_ms, 0)
    }

    /// Stamps and units, oldest first, one pair for every stamp.
    pub(crate) fn entries(&self) -> Vec<(u64, u64)> {
        let mut entries: Vec<(u64, u64)> = Vec::new();
        for admitted in &self.admitted {
            let count = u64::try_from(admitted.cost).expect("a cost of 64 bits");
            match entries.last_mut() {
                Some(last) if last.0 == admitted.stamp_ms => last.1 += count,
                _ => entries.push((admitted.stamp_ms, count)),
            }
        }
        entries
    }

    /// Applies the rule for a clock that stepped back, and forgets what no longer counts.
    pub(crate) fn peek(&mut self, limit: &Limit, now_ms: u64) {
        let window_ms = limit.window_ms();
        if let LimitKind::Counter | LimitKind::Fixed = limit.kind() {
            // These two know the window of their last write and the one before; a look is not a
            // write.
            self.admitted.retain(|a| a.stamp_ms / window_ms + 1 >= self.last_ms / window_ms);
        }
        if self.last_ms > now_ms && self.last_ms - now_ms > window_ms {
            if limit.kind() == LimitKind::Fixed {
                self.admitted.retain(|a| a.stamp_ms / window_ms == self.last_ms / window_ms);
            }
            self.admitted.iter_mut().for_each(|a| a.stamp_ms = a.stamp_ms.min(now_ms));
            self.last_ms = now_ms;
        }
        if let LimitKind::Gcra { .. } = limit.kind() {
            if self.is_over(now_ms) {
                *self = Self::default();
            }
            return;
        }
        let at_ms = self.at_ms(limit, now_ms);
        // The counter keeps what it last wrote, which a step back can bring into view again; the
        // others forget.
        if self.load(limit, at_ms) == 0 && (limit.kind() != LimitKind::Counter || self.admitted.is_empty()) {
            *self = Self::default();
        }
        if let LimitKind::Log { .. } | LimitKind::InFlight = limit.kind() {
            self.admitted.retain(|a| a.stamp_ms + window_ms > at_ms);
        }
    }

    fn record(&mut self, limit: &Limit, cost: u64, now_ms: u64, id: u64) -> u64 {
        let at_ms = self.at_ms(limit, now_ms);
        if let LimitKind::Gcra { .. } = limit.kind() {
            let owed = self.debt(limit, now_ms) + u128::from(cost) * u128::from(limit.window_ms());
            self.write_meter(limit, owed, now_ms);
            return now_ms;
        }
        let stamp_ms = match limit.kind() {
            LimitKind::Log { resolution_ms: r } => self.log_stamp_ms(limit, at_ms / r * r + r - 1),
            _ => at_ms,
        };
        self.last_ms = at_ms;
        let admitted =
            Admitted { receipt_ms: stamp_ms, cost: u128::from(cost), id, ..Admitted::at(stamp_ms) };
        // In the order in which they leave: a slot may have been longer before, and end later.
        let place = self.admitted.partition_point(|a| a.stamp_ms <= stamp_ms);
        self.admitted.insert(place, admitted);
        stamp_ms
    }

    /// The end of the slot. Where others lie ahead, of slots that were longer before, and there are
    /// just as many entries as the limit can need, the first of those.
    fn log_stamp_ms(&self, limit: &Limit, stamp_ms: u64) -> u64 {
        let entries = self.entries();
        let ahead = entries.iter().map(|entry| entry.0).find(|ms| *ms >= stamp_ms).unwrap_or(stamp_ms);
        if entries.len() == limit.max_entries() { ahead } else { stamp_ms }
    }

    /// The time at which a decision is made.
    fn at_ms(&self, limit: &Limit, now_ms: u64) -> u64 {
        match limit.kind() {
            LimitKind::Gcra { .. } => now_ms,
            _ => now_ms.max(self.last_ms),
        }
    }

    fn remaining(&self, limit: &Limit, now_ms: u64) -> u64 {
        let scale = scale(limit);
        let room = (u128::from(ceiling(limit)) * scale).saturating_sub(self.load(limit, now_ms));
        u64::try_from(room / scale).expect("no more than the ceiling")
    }

    /// What counts at a time, in units times [`scale`].
    fn load(&self, limit: &Limit, now_ms: u64) -> u128 {
        let (at_ms, window_ms) = (self.at_ms(limit, now_ms), limit.window_ms());
        let sum = |counts: &dyn Fn(u64) -> bool| -> u128 {
            self.admitted.iter().filter(|a| counts(a.stamp_ms)).map(|a| a.cost).sum()
        };
        let index = at_ms / window_ms;
        match limit.kind() {
            LimitKind::Log { .. } | LimitKind::InFlight => sum(&|ms| ms + window_ms > at_ms),
            LimitKind::Fixed => sum(&|ms| ms / window_ms == index),
            LimitKind::Counter => {
                let elapsed = u128::from(at_ms % window_ms / tick_ms(limit));
                let previous = sum(&|ms| ms / window_ms + 1 == index);
                previous * (scale(limit) - elapsed) + sum(&|ms| ms / window_ms == index) * scale(limit)
            }
            LimitKind::Gcra { .. } => self.debt(limit, now_ms),
        }
    }

    /// What a meter is owed at a time: every millisecond since the last write takes a quota away,
    /// and one before it adds a quota. What is more than a burst counts as a burst when it was
    /// written.
    fn debt(&self, limit: &Limit, at_ms: u64) -> u128 {
        if self.is_over(at_ms) {
            return 0;
        }
        let (quota, window) = (u128::from(limit.quota()), u128::from(limit.window_ms()));
        let owed = self.meter.owed.min(u128::from(ceiling(limit)) * window);
        let moved = u128::from(at_ms.abs_diff(self.last_ms)) * quota;
        if at_ms >= self.last_ms { owed.saturating_sub(moved) } else { owed + moved }
    }

    /// Whether a meter has drained at the quota under which it was written.
    fn is_over(&self, at_ms: u64) -> bool {
        u128::from(at_ms.saturating_sub(self.last_ms)) * self.meter.quota >= self.meter.owed
    }

    fn write_meter(&mut self, limit: &Limit, owed: u128, at_ms: u64) {
        (self.last_ms, self.meter) = (at_ms, Meter { owed, quota: u128::from(limit.quota()) });
    }

    /// How long from now until something holds that, once true, stays true.
    fn first(&self, now_ms: u64, limit: &Limit, holds: impl Fn(&Self, u64) -> bool) -> u64 {
        if holds(self, now_ms) {
            return 0;
        }
        let mut far = limit.window_ms();
        while !holds(self, now_ms + far) {
            far *= 2;
        }
        let mut near = 0;
        while far - near > 1 {
            let middle = near.midpoint(far);
            if holds(self, now_ms + middle) { far = middle } else { near = middle }
        }
        far
    }
}

/// Whether what came at a stamp counts at a time, in a log or in windows.
fn in_view(limit: &Limit, stamp_ms: u64, at_ms: u64) -> bool {
    let (came, now) = (stamp_ms / limit.window_ms(), at_ms / limit.window_ms());
    match limit.kind() {
        LimitKind::Counter => came == now || came + 1 == now,
        LimitKind::Fixed => came == now,
        LimitKind::Log { .. } | LimitKind::Gcra { .. } | LimitKind::InFlight => {
            stamp_ms + limit.window_ms() > at_ms
        }
    }
}

fn ceiling(limit: &Limit) -> u64 {
    match limit.kind() {
        LimitKind::Gcra { burst } => burst,
        _ => limit.quota(),
    }
}

fn tick_ms(limit: &Limit) -> u64 {
    if limit.window_ms() > DAY_MS { 1_000 } else { 1 }
}

/// What one unit weighs: the counter and GCRA count in fractions of a unit.
fn scale(limit: &Limit) -> u128 {
    match limit.kind() {
        LimitKind::Counter => u128::from(limit.window_ms() / tick_ms(limit)),
        LimitKind::Gcra { .. } => u128::from(limit.window_ms()),
        LimitKind::Log { .. } | LimitKind::Fixed | LimitKind::InFlight => 1,
    }
}
