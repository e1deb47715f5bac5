//! Whether whoever wants to know of denials hears of each.

use std::sync::atomic::{AtomicU8, Ordering};

use super::striped::Striped;
use super::thread_stripe::Place;

/// How much of denials is heard by whoever wants to know of them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum Hears {
    /// Each.
    #[default]
    Each,
    /// How many there are.
    Number,
    /// Nothing.
    Nothing,
}

/// Told by whoever wants to know of denials how much of them it wants to know. To be called for nothing takes longer
/// than to count, which matters when there are many.
#[derive(Debug)]
pub struct Hearing {
    hears: AtomicU8,
    counted: Striped<1>,
}

/// Hears of each.
impl Default for Hearing {
    fn default() -> Self {
        Self { hears: AtomicU8::new(Hears::Each as u8), counted: Striped::new() }
    }
}

impl Hearing {
    /// How much is heard from now on.
    pub fn set(&self, hears: Hears) {
        self.hears.store(hears as u8, Ordering::SeqCst);
    }

    /// How many denials were only counted.
    pub fn counted(&self) -> u64 {
        self.counted.sums()[0]
    }

    /// Whether a denial is to be told. If it is not, it is counted where it should be.
    #[inline(always)]
    pub(super) fn wants(&self, place: Place) -> bool {
        const EACH: u8 = Hears::Each as u8;
        const NUMBER: u8 = Hears::Number as u8;
        match self.hears.load(Ordering::Relaxed) {
            EACH => true,
            NUMBER => {
                self.counted.add(place, 0);
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
        let hearing = Hearing::default();
        for (hears, is_told, counted) in [
            (Hears::Each, true, 0),
            (Hears::Number, false, 1),
            (Hears::Nothing, false, 1),
            (Hears::Each, true, 1),
        ] {
            hearing.set(hears);
            assert_eq!((hearing.wants(Place::here()), hearing.counted()), (is_told, counted), "{hears:?}");
        }
    }
}
