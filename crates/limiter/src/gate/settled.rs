//! What came of permits, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use slidegate_core::MAX_QUOTA;

use crate::store::{SettleOutcome, Settlement};

/// What came of the permits that were given back or settled.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Settlements {
    /// What was recorded was replaced.
    pub settled: u64,
    /// What was recorded had left its windows.
    pub expired: u64,
    /// The permit had been used before.
    pub already_spent: u64,
    /// The key remembered as many used permits as it may.
    pub too_many_spent: u64,
    /// Units by which settlements were above what had been reserved: they count even beyond the quota.
    pub debt_units: u64,
}

/// The same while it is counted.
#[derive(Default, Debug)]
pub(super) struct Counts {
    settled: AtomicU64,
    expired: AtomicU64,
    already_spent: AtomicU64,
    too_many_spent: AtomicU64,
    debt_units: AtomicU64,
}

impl Counts {
    pub(super) fn add(&self, outcome: SettleOutcome, debt_units: u64) {
        let count = match outcome {
            SettleOutcome::Settled => &self.settled,
            SettleOutcome::Expired => &self.expired,
            SettleOutcome::AlreadySpent => &self.already_spent,
            SettleOutcome::TooManySpent => &self.too_many_spent,
        };
        count.fetch_add(1, Ordering::Relaxed);
        if outcome == SettleOutcome::Settled {
            self.debt_units.fetch_add(debt_units, Ordering::Relaxed);
        }
    }

    pub(super) fn counts(&self) -> Settlements {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Settlements {
            settled: of(&self.settled),
            expired: of(&self.expired),
            already_spent: of(&self.already_spent),
            too_many_spent: of(&self.too_many_spent),
            debt_units: of(&self.debt_units),
        }
    }
}

/// By how much a request cost more than was reserved for it: once, however many limits it was charged under.
pub(super) fn debt_units(used: Option<&Settlement<'_>>) -> u64 {
    let Some(used) = used else { return 0 };
    let receipts = used.subjects.iter().flat_map(|subject| &subject.receipts);
    let above = receipts.map(|(_, receipt)| used.cost.min(MAX_QUOTA).saturating_sub(receipt.cost));
    above.max().unwrap_or(0)
}
