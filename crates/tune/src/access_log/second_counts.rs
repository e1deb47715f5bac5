//! Lines of each second of a file whose stamps are whole seconds.

use super::format::TimeMeaning;
use super::line_batch::LineBatch;

const SECOND_MS: u64 = 1000;

/// Counts of the latest seconds.
#[derive(Debug)]
pub(super) struct SecondCounts {
    time_meaning: TimeMeaning,
    /// A power of two of them; a second has one place.
    counts: Vec<SecondCount>,
}

#[derive(Clone, Copy, Default, Debug)]
struct SecondCount {
    second: u64,
    lines: u32,
}

impl SecondCounts {
    pub(super) fn new(reorder_ms: u64, time_meaning: TimeMeaning) -> Self {
        // Stamps may be ahead of starts by as much as requests take.
        let seconds = 4 * (reorder_ms / SECOND_MS + 64);
        Self { time_meaning, counts: vec![SecondCount::default(); seconds.next_power_of_two() as usize] }
    }

    /// Second of a line's stamp.
    #[inline]
    pub(super) fn second_of(&self, batch: &LineBatch, index: usize) -> u64 {
        let start_ms = batch.start_ms(index);
        match (self.time_meaning, batch.duration_ms(index)) {
            (TimeMeaning::End, Some(duration_ms)) => (start_ms + duration_ms) / SECOND_MS,
            _ => start_ms / SECOND_MS,
        }
    }

    /// Counts a line of a second. How many came before it.
    #[inline]
    pub(super) fn count(&mut self, second: u64) -> u32 {
        let place = self.place(second);
        let count = &mut self.counts[place];
        if count.second > second {
            // Long past.
            return 0;
        }
        if count.second < second {
            *count = SecondCount { second, lines: 0 };
        }
        count.lines += 1;
        count.lines - 1
    }

    /// Lines of a second; 0 of one long past.
    pub(super) fn lines_in(&self, second: u64) -> u32 {
        let count = self.counts[self.place(second)];
        if count.second == second { count.lines } else { 0 }
    }

    fn place(&self, second: u64) -> usize {
        second as usize & (self.counts.len() - 1)
    }
}
