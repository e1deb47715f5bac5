//! Metrics of permits and idempotency keys.

use slidegate::Clock;

use crate::runtime::Runtime;
#[cfg(test)]
use crate::telemetry::metrics::family::MetricDescription;
use crate::telemetry::metrics::family::{Family, Sink};

static SETTLEMENTS: Family<1> = Family::counter(
    "settlements",
    ["outcome"],
    "Refunds and settlements of permits by outcome: settled, expired, already_spent, partly_settled, void",
);
static DEBT: Family<0> = Family::counter(
    "settlement_debt_units",
    [],
    "Units settled above the reservation; they count even beyond the quota",
);
static REFUSED_KEYS: Family<0> = Family::counter(
    "idempotency_keys_refused",
    [],
    "Requests rejected with 503 because the idempotency cache was full",
);

static REFUSED: Family<0> = Family::counter(
    "permits_refused",
    [],
    "Requests denied because their subject had the maximum number of open permits",
);

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn MetricDescription] = &[&SETTLEMENTS, &REFUSED, &DEBT, &REFUSED_KEYS];

pub(super) fn gather<C: Clock>(sink: &mut dyn Sink, runtime: &Runtime<C>) {
    let counts = runtime.gate().settlements();
    SETTLEMENTS.put(sink, ["settled"], counts.settled);
    SETTLEMENTS.put(sink, ["expired"], counts.expired);
    SETTLEMENTS.put(sink, ["already_spent"], counts.already_spent);
    SETTLEMENTS.put(sink, ["partly_settled"], counts.partly_settled);
    SETTLEMENTS.put(sink, ["void"], counts.void);
    REFUSED.put(sink, [], counts.refused_permits);
    DEBT.put(sink, [], counts.debt_units);
    REFUSED_KEYS.put(sink, [], runtime.gate().refused_idempotency_keys());
}
