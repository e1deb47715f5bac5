//! What came of permits.

use slidegate::Clock;

#[cfg(test)]
use super::family::Described;
use super::family::{Family, Sink};
use crate::app::App;

static SETTLEMENTS: Family<1> = Family::counter(
    "settlements",
    ["outcome"],
    "Permits that were refunded or settled: settled, expired, already_spent, too_many_spent",
);
static DEBT: Family<0> = Family::counter(
    "settlement_debt_units",
    [],
    "Units by which settlements were above their reservation: they count even beyond the quota",
);

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn Described] = &[&SETTLEMENTS, &DEBT];

pub(super) fn gather<C: Clock>(sink: &mut impl Sink, app: &App<C>) {
    let counts = app.gate().settlements();
    SETTLEMENTS.put(sink, ["settled"], counts.settled);
    SETTLEMENTS.put(sink, ["expired"], counts.expired);
    SETTLEMENTS.put(sink, ["already_spent"], counts.already_spent);
    SETTLEMENTS.put(sink, ["too_many_spent"], counts.too_many_spent);
    DEBT.put(sink, [], counts.debt_units);
}
