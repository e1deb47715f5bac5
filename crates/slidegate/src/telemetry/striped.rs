//! Counters with a copy per thread.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::thread_stripe::{OWN, SHARED, ThreadStripe};

/// Counters, with a copy for each stripe that is in use.
pub(super) struct Striped<const N: usize> {
    own: [Lazy<N>; OWN],
    shared: [Lazy<N>; SHARED],
}

type Lazy<const N: usize> = OnceLock<Box<Stripe<N>>>;

/// Copy of the counters, on cache lines of its own.
#[repr(align(64))]
struct Stripe<const N: usize>([AtomicU64; N]);

impl<const N: usize> Striped<N> {
    pub(super) fn new() -> Self {
        Self { own: [const { OnceLock::new() }; OWN], shared: [const { OnceLock::new() }; SHARED] }
    }

    /// Adds one.
    #[inline(always)]
    pub(super) fn add(&self, stripe: ThreadStripe, counter: usize) {
        let Some(copy) = self.own.get(stripe.index()) else { return self.add_shared(stripe, counter) };
        let counter = &copy.get_or_init(Self::empty).0[counter];
        // No other thread writes here, so no update is lost.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    #[cold]
    fn add_shared(&self, stripe: ThreadStripe, counter: usize) {
        let copy = &self.shared[stripe.index() - OWN];
        copy.get_or_init(Self::empty).0[counter].fetch_add(1, Ordering::Relaxed);
    }

    #[cold]
    fn empty() -> Box<Stripe<N>> {
        Box::new(Stripe([const { AtomicU64::new(0) }; N]))
    }

    /// Sums over all threads.
    pub(super) fn sums(&self) -> [u64; N] {
        let mut sums = [0; N];
        for copy in self.own.iter().chain(&self.shared).filter_map(OnceLock::get) {
            for (sum, counter) in sums.iter_mut().zip(&copy.0) {
                *sum += counter.load(Ordering::Relaxed);
            }
        }
        sums
    }
}

impl<const N: usize> fmt::Debug for Striped<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Striped").field(&self.sums()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn nothing_is_lost_however_many_threads_count() {
        let counters = Striped::<2>::new();
        for _ in 0..10 {
            thread::scope(|scope| {
                for _ in 0..100 {
                    scope.spawn(|| {
                        for at in 0..1_000 {
                            counters.add(ThreadStripe::here(), at % 2);
                        }
                    });
                }
            });
        }
        assert_eq!(counters.sums(), [500_000, 500_000]);
    }
}
