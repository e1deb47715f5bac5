//! Outcomes of permits, and their counts.

use std::sync::atomic::{AtomicU64, Ordering};

use slidegate_core::MAX_QUOTA;

use slidegate_policy::Policy;
use slidegate_store::{ChargeRecord, SettleOutcome, Settlement};

/// Counts of refunds and settlements by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Settlements {
    /// The charge was replaced.
    pub settled: u64,
    /// The charge had left its windows.
    pub expired: u64,
    /// The permit was spent before.
    pub already_spent: u64,
    /// The charge was replaced on some subjects; the others had been reset.
    pub partly_settled: u64,
    /// The charge was gone: the subject had been reset, or its state was lost.
    pub void: u64,
    /// Requests refused because a subject had the maximum of open permits.
    pub refused_permits: u64,
    /// Units settled above the reservations, which count even beyond the quota.
    pub debt_units: u64,
}

/// Counters of [`Settlements`].
#[derive(Default, Debug)]
pub(super) struct SettlementCounters {
    settled: AtomicU64,
    expired: AtomicU64,
    already_spent: AtomicU64,
    partly_settled: AtomicU64,
    void: AtomicU64,
    refused_permits: AtomicU64,
    debt_units: AtomicU64,
}

impl SettlementCounters {
    pub(super) fn add(&self, outcome: SettleOutcome, debt_units: u64) {
        let count = match outcome {
            SettleOutcome::Settled => &self.settled,
            SettleOutcome::Expired => &self.expired,
            SettleOutcome::AlreadySpent => &self.already_spent,
            SettleOutcome::PartlySettled => &self.partly_settled,
            SettleOutcome::Void => &self.void,
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.debt_units.fetch_add(debt_units, Ordering::Relaxed);
    }

    /// Counts a request refused because there was no room for its permit.
    pub(super) fn refuse_permit(&self) {
        self.refused_permits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Settlements {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Settlements {
            settled: of(&self.settled),
            expired: of(&self.expired),
            already_spent: of(&self.already_spent),
            partly_settled: of(&self.partly_settled),
            void: of(&self.void),
            refused_permits: of(&self.refused_permits),
            debt_units: of(&self.debt_units),
        }
    }
}

/// Outcome of one permit, as a whole and by rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettlementReport {
    /// Outcome as a whole.
    pub outcome: SettleOutcome,
    /// Outcomes by rule, in the order of the charges.
    pub parts: Vec<SettlementPart>,
}

/// Outcome of a permit under one rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettlementPart {
    /// Rule; `None` if the policy no longer has it.
    pub rule: Option<String>,
    /// Outcome.
    pub outcome: SettleOutcome,
}

impl SettlementReport {
    pub(super) fn new(policy: &Policy, settlement: &Settlement<'_>, outcomes: &[SettleOutcome]) -> Self {
        let rule_of = |space| policy.rules().iter().find(|rule| rule.space() == space);
        let all: Vec<(&ChargeRecord<'_>, SettleOutcome)> =
            settlement.subjects.iter().zip(outcomes.iter().copied()).collect();
        // A rule that also takes a place in flight may have been charged in two parts.
        let by_rule = all.chunk_by(|(one, _), (other, _)| one.space == other.space && one.key == other.key);
        let parts = by_rule.map(|parts| {
            let outcomes: Vec<SettleOutcome> = parts.iter().map(|(_, outcome)| *outcome).collect();
            let rule = rule_of(parts[0].0.space).map(|rule| rule.name().to_owned());
            SettlementPart { rule, outcome: SettleOutcome::of_all(&outcomes) }
        });
        let parts = parts.collect();
        Self { outcome: SettleOutcome::of_all(outcomes), parts }
    }
}

/// Units above the reservation: counted once, however many limits were charged.
pub(super) fn debt_units(settlement: &Settlement<'_>, outcomes: &[SettleOutcome]) -> u64 {
    let settled = settlement.subjects.iter().zip(outcomes);
    let settled = settled.filter(|(_, outcome)| **outcome == SettleOutcome::Settled);
    let receipts = settled.flat_map(|(subject, _)| &subject.receipts);
    let used = receipts.filter(|(limit, _)| !limit.is_in_flight());
    let above = used.map(|(_, receipt)| settlement.cost.min(MAX_QUOTA).saturating_sub(receipt.cost));
    above.max().unwrap_or(0)
}
