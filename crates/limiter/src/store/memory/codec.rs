//! States as words, for the snapshot.

use slidegate_core::{Counter, Entry, Fixed, Gcra, Holder, InFlight, Kind, Limit, Log, Spent, State};

use super::subject::Tracked;

/// The next word.
pub(super) fn take(input: &mut &[u64]) -> Option<u64> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(*first)
}

fn take_array<const N: usize>(input: &mut &[u64]) -> Option<[u64; N]> {
    let (first, rest) = input.split_first_chunk::<N>()?;
    *input = rest;
    Some(*first)
}

/// A count that precedes that many groups of `N` words, and the groups.
fn take_list<const N: usize>(input: &mut &[u64]) -> Option<Vec<[u64; N]>> {
    let count = usize::try_from(take(input)?).ok()?;
    if count > input.len() {
        return None;
    }
    (0..count).map(|_| take_array(input)).collect()
}

pub(super) fn write_tracked(limit: &Limit, state: &State, words: &mut Vec<u64>) {
    words.extend(limit.to_words());
    match state {
        State::Counter(counter) => {
            words.extend([counter.last_ms(), counter.previous(), counter.current()]);
        }
        State::Fixed(Fixed { last_ms, current }) => words.extend([*last_ms, *current]),
        State::Gcra(Gcra { last_ms, debt }) => words.extend([*last_ms, *debt]),
        State::Log(log) => {
            words.extend([log.last_ms(), log.len() as u64]);
            words.extend(log.entries().flat_map(|entry| [entry.stamp_ms, entry.count]));
        }
        State::InFlight(in_flight) => {
            words.extend([in_flight.last_ms(), in_flight.holders().count() as u64]);
            words.extend(in_flight.holders().flat_map(|h| [h.id, h.count, h.end_ms]));
        }
    }
}

pub(super) fn read_tracked(input: &mut &[u64]) -> Option<Tracked> {
    let limit = Limit::from_words(take_array(input)?).ok()?;
    let last_ms = take(input)?;
    let state = match limit.kind() {
        Kind::Counter => {
            let [previous, current] = take_array(input)?;
            State::Counter(Counter::new(last_ms, previous, current))
        }
        Kind::Fixed => State::Fixed(Fixed { last_ms, current: take(input)? }),
        Kind::Gcra { .. } => State::Gcra(Gcra { last_ms, debt: take(input)? }),
        Kind::Log { .. } => {
            let entries = take_list(input)?.into_iter();
            let entries = entries.map(|[stamp_ms, count]| Entry { stamp_ms, count });
            State::Log(Log::from_entries(last_ms, entries))
        }
        Kind::InFlight => {
            let holders = take_list(input)?.into_iter();
            let holders = holders.map(|[id, count, end_ms]| Holder { id, count, end_ms });
            State::InFlight(InFlight::from_holders(last_ms, holders))
        }
    };
    Some(Tracked { limit, state })
}

pub(super) fn write_spent(spent: &Spent, words: &mut Vec<u64>) {
    words.push(spent.iter().count() as u64);
    words.extend(spent.iter().flat_map(|(id, until_ms)| [id, until_ms]));
}

pub(super) fn read_spent(input: &mut &[u64]) -> Option<Spent> {
    let mut spent = Spent::default();
    take_list(input)?.into_iter().for_each(|[id, until_ms]| spent.insert(id, until_ms));
    Some(spent)
}
