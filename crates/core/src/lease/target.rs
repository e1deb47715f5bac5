//! Target of a lease: the part of a scarce quota that a node should hold.

/// What a node wants, and by what weight it gets its part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) want: u64,
    pub(super) demand: u64,
}

/// Largest factor of a product, so that products and sums of up to 64 claims are exact in a double.
const MAX_FACTOR: u64 = 1 << 20;
/// Rounds of [`fill`]. More would change little.
const ROUNDS: usize = 3;

/// Units that a node should hold. `capacity` is what all nodes can share.
///
/// Everyone gets what it wants if that is possible. Otherwise the capacity is divided by demand,
/// and nobody gets more than it wants, nor less than a unit.
pub(super) fn target(capacity: u64, own: Claim, others: &(impl Iterator<Item = Claim> + Clone)) -> u64 {
    let wants = others.clone().map(|claim| claim.want).sum::<u64>() + own.want;
    let target = if wants <= capacity { own.want } else { fill(capacity, own, others) };
    if own.want == 0 { 0 } else { target.max(1) }
}

/// Water-filling: in every round, whoever wants less than its part gets that, and the rest is
/// divided among the others.
fn fill(capacity: u64, own: Claim, others: &(impl Iterator<Item = Claim> + Clone)) -> u64 {
    let unit = unit_of(capacity);
    let weight = unit_of(others.clone().map(|claim| claim.demand).max().unwrap_or(0).max(own.demand));
    // A want above the capacity is not met, however large it is.
    let scaled = |claim: Claim| Claim {
        want: claim.want.min(capacity) / unit,
        demand: (claim.demand / weight).max(1),
    };
    let me = scaled(own);
    let (mut left, mut demand) =
        (capacity / unit, others.clone().map(|claim| scaled(claim).demand).sum::<u64>() + me.demand);
    // What is left is divided among those that want more than this part of it.
    let (mut share_left, mut share_demand) = (0, 1);
    for _ in 0..ROUNDS {
        let (before, demand_before) = (left, demand);
        for claim in others.clone().map(scaled) {
            // Those that were satisfied in an earlier round want less than that part.
            let is_satisfied = claim.want * share_demand < claim.demand * share_left;
            if !is_satisfied && claim.want * demand_before < claim.demand * before {
                left -= claim.want;
                demand -= claim.demand;
            }
        }
        if me.want * demand_before <= me.demand * before {
            return own.want.min(capacity);
        }
        if left == before {
            break;
        }
        (share_left, share_demand) = (before, demand_before);
    }
    (left * me.demand / demand * unit).min(own.want)
}

/// Power of two by which a number is divided to be a factor.
fn unit_of(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit > MAX_FACTOR {
        unit *= 2;
    }
    unit
}
