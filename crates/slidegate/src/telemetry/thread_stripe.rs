//! A number for every thread, so that threads can count without waiting for each other.

use std::cell::Cell;

use parking_lot::Mutex;

/// So many threads at a time have a place that nobody else writes to.
pub(super) const OWN: usize = 32;
/// So many places the others have together.
pub(super) const SHARED: usize = 8;

/// Where a thread counts: at one of its own, or at one that comes behind those and is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadStripe(u32);

/// Before a thread has counted anything.
const UNASSIGNED: ThreadStripe = ThreadStripe(u32::MAX);
/// Stripe of a thread that is about to end.
const SHARED_STRIPE: ThreadStripe = ThreadStripe(OWN as u32);

static FREE: Mutex<Free> = Mutex::new(Free { next: 0, returned: Vec::new() });

/// Numbers that nobody has. A thread that takes one over sees all that the previous thread wrote, because of the lock.
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

/// A number that is given back when its thread ends.
struct Number(u32);

impl Drop for Number {
    fn drop(&mut self) {
        // What is counted after this must not be where another thread counts.
        STRIPE.set(SHARED_STRIPE);
        FREE.lock().returned.push(self.0);
    }
}

thread_local! {
    static STRIPE: Cell<ThreadStripe> = const { Cell::new(UNASSIGNED) };
    static NUMBER: Number = Number(FREE.lock().take());
}

impl ThreadStripe {
    /// That of this thread.
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
    fn no_two_threads_have_one_place_for_themselves() {
        let most = OWN + 2 * SHARED;
        for _ in 0..20 {
            let all_there = Barrier::new(most);
            let places = thread::scope(|scope| {
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
                places.iter().map(|stripe| stripe.index()).filter(|index| *index < OWN).collect();
            assert_eq!(own.iter().collect::<HashSet<_>>().len(), own.len());
            assert!(places.iter().all(|stripe| stripe.index() < OWN + SHARED));
        }
        // Numbers of threads that ended are given again.
        assert!((FREE.lock().next as usize) < 20 * most);
    }
}
