//! Slots in flight: a request takes one, whatever it costs.

use std::borrow::Cow;

use slidegate_core::Limit;

use slidegate_store::Charge;

/// Units of a limit that a cost takes.
#[inline]
pub(super) fn units(limit: &Limit, cost: u64) -> u64 {
    if limit.needs_id() { cost.min(1) } else { cost }
}

/// Charges as a store takes them, limit by limit in the same order: slots in flight apart from the
/// rest.
#[inline]
pub(super) fn split_charges<'c>(charges: &'c [Charge<'c>]) -> Cow<'c, [Charge<'c>]> {
    let takes_more = |charge: &Charge<'_>| charge.cost > 1 && charge.limits.iter().any(Limit::needs_id);
    if !charges.iter().any(takes_more) {
        return Cow::Borrowed(charges);
    }
    charges.iter().flat_map(|charge| split_charge(*charge)).collect()
}

/// Charge as a store takes it: whole, or its slots in flight apart from the rest.
#[inline]
pub(super) fn split_charge<'c>(charge: Charge<'c>) -> impl Iterator<Item = Charge<'c>> {
    let together = move |one: &Limit, other: &Limit| charge.cost <= 1 || one.needs_id() == other.needs_id();
    let split_charge = charge.limits.chunk_by(together);
    split_charge.map(move |limits| Charge { limits, cost: units(&limits[0], charge.cost), ..charge })
}
