//! [`Settlement`]: replaces the cost of an admitted request, once.

use slidegate_core::{Grant, Limit, LimitId, LimitKind, Receipt};

use crate::{Key, Space};

/// Settlement of an admitted request: the costs that replace the recorded ones.
#[derive(Clone, Debug)]
pub struct Settlement<'a> {
    /// Time of the request, for stores without a clock of their own.
    pub now_ms: u64,
    /// Id of the permit.
    pub id: u64,
    /// Final cost; 0 refunds.
    pub cost: u64,
    /// In-flight slots that stay taken; 0 releases.
    pub slots: u64,
    /// Recorded charges by subject.
    pub subjects: Vec<ChargeRecord<'a>>,
}

impl Settlement<'_> {
    /// Final cost under this limit.
    pub fn cost_of(&self, limit: LimitId) -> u64 {
        if limit.is_in_flight() { self.slots } else { self.cost }
    }
}

/// Record of a charge: the entries of an admitted request for one subject.
#[derive(Clone, Debug)]
pub struct ChargeRecord<'a> {
    /// The rule or limiter whose subject it is.
    pub space: Space,
    /// The subject.
    pub key: Key<'a>,
    /// Permit of the subject.
    pub grant: Grant,
    /// Limits, and the entry in each.
    pub receipts: Vec<(LimitId, Receipt)>,
}

impl ChargeRecord<'_> {
    /// Time at which all of it has left its windows.
    pub fn release_ms(&self) -> u64 {
        let each =
            self.receipts.iter().filter_map(|(id, receipt)| Some(receipt.release_ms(&settle_limit(*id)?)));
        each.max().unwrap_or(0)
    }
}

/// Limit of this id with any quota, which settling ignores. `None` for GCRA, which has no entries
/// to settle.
pub fn settle_limit(id: LimitId) -> Option<Limit> {
    let [head, window_ms] = id.to_words();
    let limit = Limit::from_words([head, 1, window_ms, 1]).ok()?;
    (!matches!(limit.kind(), LimitKind::Gcra { .. })).then_some(limit)
}

/// Outcome of a refund or a settlement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettleOutcome {
    /// The cost was replaced.
    Settled,
    /// The cost was replaced on some subjects. The others were reset since, and are unchanged.
    PartlySettled,
    /// The charge has left every window: there is nothing to replace.
    Expired,
    /// The permit was settled before. Nothing changed.
    AlreadySpent,
    /// The charge no longer exists: the subject was reset or its state was lost. Nothing changed.
    Void,
}

impl SettleOutcome {
    /// Outcome of a permit, from the outcomes of its subjects.
    ///
    /// `AlreadySpent` beside `Settled` means that an earlier settlement was interrupted: the permit
    /// is settled as a whole.
    pub fn of_all(parts: &[Self]) -> Self {
        let has = |outcome| parts.contains(&outcome);
        match (has(Self::Settled), has(Self::AlreadySpent), has(Self::Void)) {
            (true, _, true) => Self::PartlySettled,
            (true, _, false) => Self::Settled,
            (false, true, _) => Self::AlreadySpent,
            (false, false, true) => Self::Void,
            (false, false, false) => Self::Expired,
        }
    }

    /// Name in every protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::PartlySettled => "partly_settled",
            Self::Expired => "expired",
            Self::AlreadySpent => "already_spent",
            Self::Void => "void",
        }
    }
}
