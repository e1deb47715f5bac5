//! The rule for a clock that steps: a key never decides earlier than it last wrote.

/// The last millisecond that can be told apart, in the year 6429; later times count as this one.
pub const MAX_TIME_MS: u64 = (1 << 47) - 1;

/// What a key makes of the time it is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// Decide at this time: now, or the last write where the clock stepped back since.
    At(u64),
    /// The last write lies more than a window ahead, so that clock was wrong: bring every stamp back to now.
    Repair(u64),
}

/// Reads the clock for a key that last wrote at `last_ms`.
#[inline(always)]
pub(crate) fn read(now_ms: u64, last_ms: u64, window_ms: u64) -> Reading {
    if last_ms <= now_ms {
        Reading::At(now_ms)
    } else if last_ms - now_ms <= window_ms {
        Reading::At(last_ms)
    } else {
        Reading::Repair(now_ms)
    }
}

/// `a * b / divisor`, rounded down, exact for any product; the common small product stays in 64 bits.
#[inline(always)]
pub(crate) fn mul_div(a: u64, b: u64, divisor: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / divisor,
        None => narrow(u128::from(a) * u128::from(b) / u128::from(divisor)),
    }
}

/// `a * b / divisor`, rounded up.
#[inline(always)]
pub(crate) fn mul_div_ceil(a: u64, b: u64, divisor: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product.div_ceil(divisor),
        None => narrow((u128::from(a) * u128::from(b)).div_ceil(u128::from(divisor))),
    }
}

#[cold]
fn narrow(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}
