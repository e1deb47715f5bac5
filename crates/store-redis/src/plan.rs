//! Plan of a request: keys, limits and costs by slot.

use slidegate_core::{Decision, Grant, Limit, Prepayment, Verdict};

use super::keys::{KeyOwner, KeyUse};
use super::link::SlotRouting;
use super::script_reply::ScriptReply;
use slidegate_store::{Admission, Grants, RefundScope, ReserveRequest, stricter};

/// Costs above this never fit, whatever the limit: larger ones would not be exact.
const MAX_COST: u64 = 1 << 52;

/// Limit of a subject, and the total cost of the request there.
#[derive(Clone, Debug)]
pub(super) struct PlanItem {
    pub(super) key: Vec<u8>,
    pub(super) limit: Limit,
    pub(super) cost: u64,
    /// Index of the first charge on it.
    pub(super) charge: usize,
}

impl PlanItem {
    #[cfg(test)]
    pub(super) fn new(key: Vec<u8>, limit: Limit, cost: u64) -> Self {
        Self { key, limit, cost, charge: 0 }
    }
}

/// Part of a request that one call decides.
#[derive(Clone, Debug)]
pub(super) struct SlotGroup {
    pub(super) owner: KeyOwner,
    pub(super) items: Vec<PlanItem>,
    /// Permits to open.
    pub(super) permits: Vec<PermitItem>,
}

/// Permit for a charge on a subject.
#[derive(Clone, Debug)]
pub(super) struct PermitItem {
    /// Key of the open permits.
    pub(super) key: Vec<u8>,
    pub(super) charge: usize,
    /// Argument of the script: whether it has a number, and the indexes of the limits that it
    /// covers, from 1.
    pub(super) covers: Vec<u8>,
}

/// Plan of a request.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) holder: [u8; 8],
    pub(super) now_ms: u64,
    /// Groups in the order of their slots, in which they are charged.
    pub(super) groups: Vec<SlotGroup>,
    /// Position of the decision for every limit of every charge: group, and index in it.
    positions: Vec<(usize, usize)>,
    charges: usize,
}

impl Plan {
    pub(super) fn new(prefix: &[u8], request: &ReserveRequest<'_>, slots: SlotRouting) -> Self {
        let call = &request.charge;
        let mut groups: Vec<SlotGroup> = Vec::with_capacity(1);
        let mut positions = Vec::new();
        let charges = call.charges.iter().enumerate().filter(|(_, charge)| !charge.limits.is_empty());
        for (charge_index, charge) in charges {
            let owner = KeyOwner::new(prefix, charge.key);
            let same = |group: &SlotGroup| slots == SlotRouting::Together || group.owner.slot == owner.slot;
            let group = groups.iter().position(same).unwrap_or_else(|| {
                let items = Vec::with_capacity(charge.limits.len());
                groups.push(SlotGroup { owner: owner.clone(), items, permits: Vec::new() });
                groups.len() - 1
            });
            let scope = request.refund_scope(charge_index);
            let mut covers = vec![u8::from(scope.is_numbered(charge.limits))];
            for limit in charge.limits {
                let key = owner.key(charge.space, KeyUse::State(limit.id()));
                let index = groups[group].add(key, limit, charge.cost, charge_index);
                positions.push((group, index));
                // More limits than a byte can count are more than a script decides: such a plan is
                // refused.
                if scope.includes(limit)
                    && let Ok(index) = u8::try_from(index + 1)
                {
                    covers.push(index);
                }
            }
            if scope != RefundScope::Nothing && charge.cost > 0 && covers.len() > 1 {
                let key = owner.key(charge.space, KeyUse::OpenPermits);
                groups[group].permits.push(PermitItem { key, charge: charge_index, covers });
            }
        }
        let (holder, charges) = (call.holder.to_le_bytes(), call.charges.len());
        Self { holder, now_ms: call.now_ms, groups, positions, charges }.in_order()
    }

    fn in_order(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        order.sort_by_key(|index| self.groups[*index].owner.slot);
        for (group, _) in &mut self.positions {
            *group = order.iter().position(|index| index == group).expect("every group has an index");
        }
        self.groups.sort_by_key(|group| group.owner.slot);
        self
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &PlanItem> {
        self.groups.iter().flat_map(|group| &group.items)
    }

    /// Prepayments by item, from those for every limit of every charge. A limit of several charges
    /// has the first.
    pub(super) fn prepayments(&self, of_limits: &[Option<Prepayment>]) -> Vec<Vec<Option<Prepayment>>> {
        let mut prepayments: Vec<Vec<Option<Prepayment>>> =
            self.groups.iter().map(|group| vec![None; group.items.len()]).collect();
        for ((group, index), prepayment) in self.positions.iter().zip(of_limits) {
            let existing = &mut prepayments[*group][*index];
            *existing = existing.or(*prepayment);
        }
        prepayments
    }

    /// True if the request is a peek.
    pub(super) fn is_peek(&self) -> bool {
        self.items().all(|item| item.cost == 0)
    }

    /// Verdict on the request, from the replies of its groups.
    pub(super) fn verdict(&self, rows: &[ScriptReply]) -> Verdict {
        let decided_at_ms = rows.iter().map(|row| row.decided_at_ms).max().unwrap_or(self.now_ms);
        let decisions = self.positions.iter().map(|(group, index)| rows[*group].decisions[*index]);
        Verdict::new(decided_at_ms, decisions.collect())
    }

    /// Verdict with the opened permits.
    pub(super) fn admission(&self, rows: &[ScriptReply]) -> Admission {
        let verdict = self.verdict(rows);
        let mut grants: Vec<Option<Grant>> = vec![None; self.charges];
        for (group, row) in self.groups.iter().zip(rows) {
            for (permit, grant) in group.permits.iter().zip(&row.grants) {
                grants[permit.charge] = Some(*grant);
            }
        }
        Admission { verdict, grants: Grants::new(grants) }
    }

    /// Answer to a request that was not charged because a subject has too many open permits.
    pub(super) fn too_many_open(&self) -> Admission {
        Admission { verdict: self.verdict(&self.unknown()), grants: Grants::TooManyOpen }
    }

    /// Replies without any information.
    pub(super) fn unknown(&self) -> Vec<ScriptReply> {
        let row = |group: &SlotGroup| ScriptReply {
            decided_at_ms: self.now_ms,
            decisions: vec![Decision::default(); group.items.len()],
            grants: Vec::new(),
        };
        self.groups.iter().map(row).collect()
    }
}

impl SlotGroup {
    /// Adds a cost to the item of this key; returns its index.
    fn add(&mut self, key: Vec<u8>, limit: &Limit, cost: u64, charge: usize) -> usize {
        let cost = cost.min(MAX_COST);
        if let Some(index) = self.items.iter().position(|item| item.key == key) {
            let item = &mut self.items[index];
            item.cost = (item.cost + cost).min(MAX_COST);
            item.limit = stricter(&item.limit, limit);
            return index;
        }
        self.items.push(PlanItem { key, limit: *limit, cost, charge });
        self.items.len() - 1
    }

    pub(super) fn limits(&self) -> Vec<Limit> {
        self.items.iter().map(|item| item.limit).collect()
    }

    pub(super) fn costs(&self) -> Vec<(Limit, u64)> {
        self.items.iter().map(|item| (item.limit, item.cost)).collect()
    }
}
