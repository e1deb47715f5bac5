//! Plan of a request: keys, limits and costs by slot.

use slidegate_core::{Decision, Grant, Limit, Verdict};

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
    /// Which charge of the request came first to it.
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
    /// The permits that are to be opened.
    pub(super) permits: Vec<PermitItem>,
}

/// A permit for what a charge costs its subject.
#[derive(Clone, Debug)]
pub(super) struct PermitItem {
    /// The ledger.
    pub(super) key: Vec<u8>,
    pub(super) charge: usize,
    /// As the script has it: whether it has a number, and the places of the limits that it covers,
    /// from 1.
    pub(super) covers: Vec<u8>,
}

/// Plan of a request.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) holder: [u8; 8],
    pub(super) now_ms: u64,
    /// In the order of their slots, which is the order in which they are charged.
    pub(super) groups: Vec<SlotGroup>,
    /// For every limit of every charge, where its decision is found: group and place in it.
    places: Vec<(usize, usize)>,
    charges: usize,
}

impl Plan {
    pub(super) fn new(prefix: &[u8], request: &ReserveRequest<'_>, slots: SlotRouting) -> Self {
        let call = &request.charge;
        let mut groups: Vec<SlotGroup> = Vec::with_capacity(1);
        let mut places = Vec::new();
        let charges = call.charges.iter().enumerate().filter(|(_, charge)| !charge.limits.is_empty());
        for (charge_index, charge) in charges {
            let owner = KeyOwner::new(prefix, charge.key);
            let same = |group: &SlotGroup| slots == SlotRouting::Together || group.owner.slot == owner.slot;
            let group = groups.iter().position(same).unwrap_or_else(|| {
                let items = Vec::with_capacity(charge.limits.len());
                groups.push(SlotGroup { owner: owner.clone(), items, permits: Vec::new() });
                groups.len() - 1
            });
            let returns = request.refund_scope(charge_index);
            let mut covers = vec![u8::from(returns.is_numbered(charge.limits))];
            for limit in charge.limits {
                let key = owner.key(charge.space, KeyUse::State(limit.id()));
                let place = groups[group].place(key, limit, charge.cost, charge_index);
                places.push((group, place));
                // More than a byte tells are more than a script decides: such a plan is refused.
                if returns.includes(limit)
                    && let Ok(place) = u8::try_from(place + 1)
                {
                    covers.push(place);
                }
            }
            if returns != RefundScope::Nothing && charge.cost > 0 && covers.len() > 1 {
                let key = owner.key(charge.space, KeyUse::Ledger);
                groups[group].permits.push(PermitItem { key, charge: charge_index, covers });
            }
        }
        let (holder, charges) = (call.holder.to_le_bytes(), call.charges.len());
        Self { holder, now_ms: call.now_ms, groups, places, charges }.in_order()
    }

    fn in_order(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        order.sort_by_key(|index| self.groups[*index].owner.slot);
        for (group, _) in &mut self.places {
            *group = order.iter().position(|index| index == group).expect("every group has a place");
        }
        self.groups.sort_by_key(|group| group.owner.slot);
        self
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &PlanItem> {
        self.groups.iter().flat_map(|group| &group.items)
    }

    /// Whether the request is a peek.
    pub(super) fn is_peek(&self) -> bool {
        self.items().all(|item| item.cost == 0)
    }

    /// The answer to the request, from those of its groups.
    pub(super) fn verdict(&self, rows: &[ScriptReply]) -> Verdict {
        let decided_at_ms = rows.iter().map(|row| row.decided_at_ms).max().unwrap_or(self.now_ms);
        let decisions = self.places.iter().map(|(group, place)| rows[*group].decisions[*place]);
        Verdict::new(decided_at_ms, decisions.collect())
    }

    /// The answer with the permits that were opened.
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

    /// The answer to a request that was not charged because a subject has no room for its permit.
    pub(super) fn too_many_open(&self) -> Admission {
        Admission { verdict: self.verdict(&self.unknown()), grants: Grants::TooManyOpen }
    }

    /// Answers before anything is known.
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
    /// Where the cost of this key is summed up.
    fn place(&mut self, key: Vec<u8>, limit: &Limit, cost: u64, charge: usize) -> usize {
        let cost = cost.min(MAX_COST);
        if let Some(known) = self.items.iter().position(|item| item.key == key) {
            let item = &mut self.items[known];
            item.cost = (item.cost + cost).min(MAX_COST);
            item.limit = stricter(&item.limit, limit);
            return known;
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
