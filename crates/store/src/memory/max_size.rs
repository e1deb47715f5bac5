//! Maximum size of a subject: the state is filled as far as requests can, and measured.

use slidegate_core::{Attempt, Limit, LimitKind, State};

use super::budget::Footprint;
use super::interner::Interner;
use super::row::ROW_BYTES;
use super::slot::SLOT_BYTES;
use super::subject::{LimitState, SubjectState};

/// Time of the last request, under all limits of a subject: the start of a slot, for most
/// resolutions.
const END_MS: u64 = 20_000 * 86_400_000;

/// Maximum size of a subject under these limits with this many open permits, including its bucket.
pub fn max_subject_bytes(limits: &[Limit], open_permits: usize) -> usize {
    let limit_states = |limit: &Limit| LimitState { limit: *limit, state: filled(limit) };
    let mut subject =
        SubjectState { limit_states: limits.iter().map(limit_states).collect(), ..SubjectState::new(0) };
    (0..open_permits).for_each(|_| {
        subject.permits.grant(0, u64::MAX);
    });
    let Footprint { slots, rows, heap_bytes } = subject.footprint(subject.layout(&Interner::new()));
    slots as usize * SLOT_BYTES + rows as usize * ROW_BYTES + heap_bytes as usize
}

fn filled(limit: &Limit) -> State {
    let mut state = State::new(limit);
    let mut take = |now_ms, cost, holder| state.decide(limit, Attempt { now_ms, cost, holder });
    match limit.kind() {
        LimitKind::Log { resolution_ms } => {
            let most = limit.max_entries() as u64;
            // As far apart as possible: stamps that are far apart take more memory.
            let step_ms = (limit.window_ms() / most / resolution_ms).max(1) * resolution_ms;
            let last = (limit.window_ms() + resolution_ms - 2) / step_ms;
            let entries = most.min(last + 1);
            let at_ms = |entry| END_MS - (entries - 1 - entry) * step_ms;
            take(at_ms(0), limit.quota() - (entries - 1), 0);
            for entry in 1..entries {
                take(at_ms(entry), 1, 0);
            }
        }
        LimitKind::Counter | LimitKind::Fixed | LimitKind::Gcra { .. } => {
            take(END_MS, limit.ceiling(), 0);
        }
        LimitKind::InFlight => {
            for holder in 0..limit.quota() {
                take(END_MS, 1, holder);
            }
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(limits: &[&str]) -> usize {
        let limits: Vec<Limit> = limits.iter().map(|text| text.parse().expect("a limit")).collect();
        max_subject_bytes(&limits, 0)
    }

    /// A row, and 6 bytes for every entry with 16 of the allocator.
    #[test]
    fn logs() {
        assert_eq!(largest(&["1/min"]), 32);
        assert_eq!(largest(&["2/min"]), 64 + 16 + 2 * 6);
        assert_eq!(largest(&["5/min"]), 64 + 16 + 5 * 6);
        assert_eq!(largest(&["100/s"]), 64 + 16 + 100 * 6);
        // Auto resolution: 128 slots of the window, and two more.
        assert_eq!(largest(&["10000/day"]), 64 + 16 + 130 * 6);
        // Counts above 65,535, or stamps more than 49 days apart, take more.
        assert!(largest(&["1000000/day"]) > 130 * 16);
        assert!(largest(&["100/100day"]) > 100 * 16);
    }

    #[test]
    fn kinds_of_constant_size() {
        let minute = Limit::per_minute(100);
        let counter = minute.counter().expect("a counter");
        let others = [counter, minute.fixed().expect("fixed"), minute.gcra(20).expect("a meter")];
        for limit in others {
            assert_eq!(max_subject_bytes(&[limit], 0), 32, "{limit}");
        }
        let second = Limit::per_second(10).counter().expect("a counter");
        assert_eq!(max_subject_bytes(&[counter, second], 0), 32, "two counters of 16 bits");
        let large = Limit::per_minute(100_000).counter().expect("a counter");
        assert_eq!(max_subject_bytes(&[large, second], 0), 64);
        assert_eq!(max_subject_bytes(&others, 0), 64);
    }

    #[test]
    fn in_flight_slots() {
        let holders = |count| Limit::in_flight(count, std::time::Duration::from_secs(30)).expect("in flight");
        let alone = max_subject_bytes(&[holders(4)], 0) - 4 * 24;
        assert_eq!(max_subject_bytes(&[holders(64)], 0), alone + 64 * 24);
        assert!(max_subject_bytes(&[holders(20)], 0) >= alone + 20 * 24);
    }

    #[test]
    fn a_permit_takes_a_few_bits() {
        let limits = [Limit::per_minute(5)];
        assert!(max_subject_bytes(&limits, 1) > max_subject_bytes(&limits, 0));
        assert!(max_subject_bytes(&limits, 1_000_000) - max_subject_bytes(&limits, 1) <= 250_000);
    }
}
