//! Permits: opened by reservations, and settled on both sides.

use slidegate::store::{ChargeRecord, Settlement};
use slidegate::{Grant, Grants, Limit, LimitKind, RefundScope, SettleOutcome, Space, Verdict};
use slidegate_core::{Receipt, SettleEffect};

use super::{Both, Way};
use crate::drivers::Driver;

/// Permit of a request: its parts by charge.
pub(super) struct Permit {
    pub(super) id: u64,
    pub(super) parts: Vec<Part>,
}

/// Part of a permit: the entries of one charge, limit by limit.
pub(super) struct Part {
    pub(super) key: usize,
    /// Number of resets of the key before it.
    pub(super) resets: u64,
    pub(super) grant: Grant,
    pub(super) receipts: Vec<(Limit, Receipt)>,
    pub(super) spent: bool,
}

impl<S: Driver> Both<S> {
    /// Records the permits of an admission.
    pub(super) fn permit(
        &mut self,
        subjects: &[usize],
        cost: u64,
        (way, scope): (Way, RefundScope),
        (expected, granted): (&Verdict, Grants),
    ) -> Result<(), String> {
        let Grants::Permits(grants) = granted else { return Ok(()) };
        if !expected.is_allowed() || cost == 0 {
            return Err(format!("permits for what was not charged: {grants:?}"));
        }
        // Charge by charge, as they were made.
        let mut decisions = expected.decisions.iter();
        let mut parts = Vec::new();
        for (charge, grant) in self.charges(subjects, cost, way).into_iter().zip(grants) {
            let (key, limits, cost) = charge;
            let receipts = limits.iter().zip(decisions.by_ref()).filter_map(|(limit, decision)| {
                let receipt = Receipt { stamp_ms: decision.stamp_ms, cost, holder: self.ids };
                includes(scope, limit).then_some((*limit, receipt))
            });
            let receipts: Vec<(Limit, Receipt)> = receipts.collect();
            match (grant, receipts.is_empty() || cost == 0) {
                (Some(grant), false) => {
                    let resets = self.keys[key].resets;
                    parts.push(Part { key, resets, grant, receipts, spent: false });
                }
                (None, true) => {}
                (grant, _) => return Err(format!("{grant:?} for {receipts:?}")),
            }
        }
        self.permits.push(Permit { id: self.ids, parts });
        Ok(())
    }

    /// Settles a permit on the core and the store, and compares the outcomes of all subjects.
    pub(super) fn settle(&mut self, of: usize, cost: u64, slots: u64) -> Result<(), String> {
        let Some(index) = of.checked_rem(self.permits.len()) else { return Ok(()) };
        let permit = &self.permits[index];
        let subjects = permit.parts.iter().map(|part| {
            let receipts = part.receipts.iter().map(|(limit, receipt)| (limit.id(), *receipt)).collect();
            let key = self.keys[part.key].name.as_str().into();
            ChargeRecord { space: Space::named(""), key, grant: part.grant, receipts }
        });
        let (now_ms, id) = (self.now_ms, permit.id);
        let settlement = Settlement { now_ms, id, cost, slots, subjects: subjects.collect() };
        let got = self.store.settle(&settlement);
        let mut permit = self.permits.swap_remove(index);
        let expected: Vec<SettleOutcome> =
            permit.parts.iter_mut().map(|part| self.settle_plain(part, cost, slots)).collect();
        self.permits.push(permit);
        (got == expected).then_some(()).ok_or(format!("settled {got:?}, not {expected:?}"))
    }

    pub(super) fn settle_plain(&mut self, part: &mut Part, cost: u64, slots: u64) -> SettleOutcome {
        let now_ms = self.now_ms;
        let release_ms = part.receipts.iter().map(|(limit, receipt)| receipt.release_ms(limit)).max();
        if release_ms.unwrap_or(0) <= now_ms {
            return SettleOutcome::Expired;
        } else if part.resets != self.keys[part.key].resets {
            return SettleOutcome::Void;
        } else if part.spent {
            return SettleOutcome::AlreadySpent;
        }
        let mut done = false;
        for (limit, state) in self.limits.iter().zip(&mut self.keys[part.key].states) {
            if let Some((_, receipt)) = part.receipts.iter().find(|(of, _)| of.id() == limit.id()) {
                let cost = if limit.needs_id() { slots } else { cost };
                done |= state.settle(limit, receipt, cost, now_ms) == SettleEffect::Done;
            }
        }
        // In-flight slots are found by the holder's id: their permits are not recorded as spent.
        let only_slots = part.receipts.iter().all(|(limit, _)| limit.needs_id());
        part.spent = !only_slots;
        match done {
            true => SettleOutcome::Settled,
            false if only_slots => SettleOutcome::AlreadySpent,
            false => SettleOutcome::Void,
        }
    }
}

/// True if the charge under a limit may be given back.
fn includes(scope: RefundScope, limit: &Limit) -> bool {
    match scope {
        RefundScope::Nothing => false,
        RefundScope::InFlight => limit.needs_id(),
        RefundScope::Everything => !matches!(limit.kind(), LimitKind::Gcra { .. }),
    }
}
