//! Stripe of a thread, so that threads count without waiting for each other.

use std::cell::Cell;

use parking_lot::Mutex;

/// Number of stripes that belong to a single thread at a time.
pub(super) const OWN: usize = 32;
/// Number of stripes that the other threads share.
pub(super) const SHARED: usize = 8;

/// Stripe in which a thread counts: its own, or one of the shared ones behind those.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadStripe(u32);

/// Stripe of a thread that has not counted yet.
const UNASSIGNED: ThreadStripe = ThreadStripe(u32::MAX);
/// Stripe of a thread that is ending.
const SHARED_STRIPE: ThreadStripe = ThreadStripe(OWN as u32);

static FREE: Mutex<Free> = Mutex::new(Free { next: 0, returned: Vec::new() });

/// Free numbers. Because of the lock, a thread that reuses one sees all writes of the previous
/// thread.
struct Free {
    next: u32,
    returned: Vec<u32>,
}

impl Free {
    fn take(&mut self) -> u32 {
        self.returned.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

/// Number that is returned when its thread ends.
struct Number(u32);

impl Drop for Number {
    fn drop(&mut self) {
        // Later counts of this thread must not go into the stripe of another.
        STRIPE.set(SHARED_STRIPE);
        FREE.lock().returned.push(self.0);
    }
}

thread_local! {
    static STRIPE: Cell<ThreadStripe> = const { Cell::new(UNASSIGNED) };
    static NUMBER: Number = Number(FREE.lock().take());
}

impl ThreadStripe {
    /// Stripe of this thread.
    #[inline]
    pub(crate) fn here() -> Self {
        let stripe = STRIPE.get();
        if stripe == UNASSIGNED { Self::first() } else { stripe }
    }

    #[cold]
    fn first() -> Self {
        let number = NUMBER.try_with(|number| number.0 as usize);
        let stripe = match number {
            Ok(number) if number < OWN => Self(number as u32),
            Ok(number) => Self((OWN + number % SHARED) as u32),
            Err(_) => SHARED_STRIPE,
        };
        STRIPE.set(stripe);
        stripe
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn no_two_threads_own_one_stripe() {
        let most = OWN + 2 * SHARED;
        for _ in 0..20 {
            let all_there = Barrier::new(most);
            let stripes = thread::scope(|scope| {
                let one = || {
                    let stripe = ThreadStripe::here();
                    all_there.wait();
                    assert_eq!(ThreadStripe::here(), stripe);
                    stripe
                };
                let threads: Vec<_> = (0..most).map(|_| scope.spawn(one)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
            });
            let own: Vec<usize> =
                stripes.iter().map(|stripe| stripe.index()).filter(|index| *index < OWN).collect();
            assert_eq!(own.iter().collect::<HashSet<_>>().len(), own.len());
            assert!(stripes.iter().all(|stripe| stripe.index() < OWN + SHARED));
        }
        // Numbers of threads that ended are given again.
        assert!((FREE.lock().next as usize) < 20 * most);
    }
}
