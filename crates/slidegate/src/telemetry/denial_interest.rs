//! Whether whoever wants to know of denials hears of each.

use std::sync::atomic::{AtomicU8, Ordering};

use super::striped::Striped;
use super::thread_stripe::ThreadStripe;

/// How much of denials is heard by whoever wants to know of them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum DenialDetail {
    /// Each.
    #[default]
    Each,
    /// How many there are.
    Number,
    /// Nothing.
    Nothing,
}

/// Detail in which a consumer of denials wants them. A call for nothing takes longer than counting,
/// which matters when there are many.
#[derive(Debug)]
pub struct DenialInterest {
    detail: AtomicU8,
    counted: Striped<1>,
}

/// Every denial.
impl Default for DenialInterest {
    fn default() -> Self {
        Self { detail: AtomicU8::new(DenialDetail::Each as u8), counted: Striped::new() }
    }
}

impl DenialInterest {
    /// How much is heard from now on.
    pub fn set(&self, detail: DenialDetail) {
        self.detail.store(detail as u8, Ordering::SeqCst);
    }

    /// How many denials were only counted.
    pub fn counted(&self) -> u64 {
        self.counted.sums()[0]
    }

    /// Whether a denial is to be told. If it is not, it is counted where it should be.
    #[inline(always)]
    pub(super) fn wants(&self, stripe: ThreadStripe) -> bool {
        const EACH: u8 = DenialDetail::Each as u8;
        const NUMBER: u8 = DenialDetail::Number as u8;
        match self.detail.load(Ordering::Relaxed) {
            EACH => true,
            NUMBER => {
                self.counted.add(stripe, 0);
                false
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_counted_where_it_should_be() {
        let interest = DenialInterest::default();
        for (detail, is_told, counted) in [
            (DenialDetail::Each, true, 0),
            (DenialDetail::Number, false, 1),
            (DenialDetail::Nothing, false, 1),
            (DenialDetail::Each, true, 1),
        ] {
            interest.set(detail);
            assert_eq!(
                (interest.wants(ThreadStripe::here()), interest.counted()),
                (is_told, counted),
                "{detail:?}"
            );
        }
    }
}
