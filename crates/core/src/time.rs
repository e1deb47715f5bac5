//! Clock steps (a key never decides earlier than its last write), and exact divisions.

use core::num::NonZeroU64;

/// Maximum time, in the year 6429; later times count as this one.
pub const MAX_TIME_MS: u64 = (1 << 47) - 1;

/// Reading of the clock by a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClockReading {
    /// Decide at this time: now, or the last write where the clock stepped back since.
    At(u64),
    /// The last write lies more than a window ahead, so that clock was wrong: bring every stamp
    /// back to now.
    Repair(u64),
}

/// Reads the clock for a key that last wrote at `last_ms`.
#[inline(always)]
pub(crate) fn read(now_ms: u64, last_ms: u64, window_ms: u64) -> ClockReading {
    if last_ms <= now_ms {
        ClockReading::At(now_ms)
    } else if last_ms - now_ms <= window_ms {
        ClockReading::At(last_ms)
    } else {
        ClockReading::Repair(now_ms)
    }
}

/// `1 / divisor` in units of 2^-64, rounded up: what [`guess_div_rem`] multiplies by.
pub(crate) const fn reciprocal(divisor: NonZeroU64) -> u64 {
    (u64::MAX / divisor.get()).saturating_add(1)
}

/// Quotient and remainder of a division by a number below 2^63 whose reciprocal is known, for most
/// `n`: without a division.
///
/// With d the divisor and m its reciprocal, m·d is less than d above 2^64 (for d = 1, 1 below it).
/// So the guess, n·m / 2^64 rounded down, times d is at most d above n. If the difference is below
/// d, it is the remainder, and the guess is the quotient; that is so for most n, because n / d is
/// overestimated by less than n / 2^64. A guess that is too large wraps to a difference above d.
#[inline(always)]
pub(crate) const fn guess_div_rem(n: u64, divisor: u64, reciprocal: u64) -> (u64, u64) {
    let guess = ((n as u128 * reciprocal as u128) >> 64) as u64;
    (guess, n.wrapping_sub(guess.wrapping_mul(divisor)))
}

/// `a * b / divisor`, rounded down, exact for any product; the common small product stays in 64
/// bits.
#[inline(always)]
pub(crate) fn mul_div(a: u64, b: u64, divisor: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / divisor,
        None => mul_div_wide(a, b, divisor),
    }
}

/// [`mul_div`] for a product of more than 64 bits.
#[cold]
#[inline(never)]
pub(crate) fn mul_div_wide(a: u64, b: u64, divisor: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b) / u128::from(divisor);
    u64::try_from(wide).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::{guess_div_rem, reciprocal};
    use crate::limit::{Limit, MAX_WINDOW_MS};

    /// Splitmix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn check(n: u64, window_ms: u64) {
        let limit = Limit::new(1, Duration::from_millis(window_ms)).expect("a window within bounds");
        let of_window = reciprocal(window_ms.try_into().expect("not 0"));
        let (guess, left) = guess_div_rem(n, window_ms, of_window);
        if left < window_ms {
            assert_eq!((guess, left), (n / window_ms, n % window_ms), "{n} / {window_ms}");
        }
        // Where n·d is below 2^64 the guess is never wrong: what most decisions rely on to be
        // quick.
        assert!(
            left < window_ms || n.checked_mul(window_ms).is_none() || window_ms == 1,
            "{n} / {window_ms}"
        );
        assert_eq!(limit.elapsed_ms(n), n % window_ms, "{n} % {window_ms}");
        assert_eq!(limit.window_start_ms(n), n - n % window_ms, "{n} % {window_ms}");
        for (units, ms) in [(n, 1), (n >> 20, window_ms - 1), (n >> 12, n % window_ms), (n, n)] {
            if let Some(share) = limit.share(units, ms) {
                let exact = u128::from(units) * u128::from(ms) / u128::from(window_ms);
                assert_eq!(u128::from(share), exact, "{units} * {ms} / {window_ms}");
            }
        }
    }

    #[test]
    fn a_guess_below_the_divisor_is_right() {
        let mut state = 1;
        let windows = [1, 2, 3, 7, 1_000, 60_000, 3_600_000, 86_400_000, MAX_WINDOW_MS - 1, MAX_WINDOW_MS];
        let powers = (0..37).flat_map(|shift| [(1 << shift) - 1, 1 << shift, (1 << shift) + 1]);
        let mut windows_ms: alloc::vec::Vec<u64> = windows.into_iter().chain(powers).collect();
        windows_ms.extend((0..2_000).map(|_| random(&mut state) >> (27 + random(&mut state) % 37)));
        windows_ms.retain(|ms| (1..=MAX_WINDOW_MS).contains(ms));
        for window_ms in windows_ms {
            for _ in 0..200 {
                let n = random(&mut state) >> (random(&mut state) % 64);
                // And beside a multiple, the last there is among them.
                for multiple in [n - n % window_ms, u64::MAX - u64::MAX % window_ms] {
                    for near in [multiple.wrapping_sub(1), multiple, multiple.wrapping_add(1), n, u64::MAX] {
                        check(near, window_ms);
                    }
                }
            }
        }
    }
}
