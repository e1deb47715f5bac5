//! Interest of the hook in denials.

use std::sync::atomic::{AtomicU8, Ordering};

use super::striped::Striped;
use super::thread_stripe::ThreadStripe;

/// Detail in which the hook wants denials.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum DenialDetail {
    /// Every denial.
    #[default]
    Each,
    /// Their number.
    Number,
    /// Nothing.
    Nothing,
}

/// Interest of the hook in denials. Counting is faster than a call without effect, which matters in
/// a flood.
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
    /// Changes the detail.
    pub fn set(&self, detail: DenialDetail) {
        self.detail.store(detail as u8, Ordering::SeqCst);
    }

    /// Number of denials that were only counted.
    pub fn counted(&self) -> u64 {
        self.counted.sums()[0]
    }

    /// True if the hook wants a denial. Otherwise counts it if the hook wants the number.
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
    fn denials_are_passed_or_counted() {
        let interest = DenialInterest::default();
        for (detail, wanted, counted) in [
            (DenialDetail::Each, true, 0),
            (DenialDetail::Number, false, 1),
            (DenialDetail::Nothing, false, 1),
            (DenialDetail::Each, true, 1),
        ] {
            interest.set(detail);
            assert_eq!(
                (interest.wants(ThreadStripe::here()), interest.counted()),
                (wanted, counted),
                "{detail:?}"
            );
        }
    }
}
