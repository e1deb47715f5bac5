//! States as words, for the snapshot.

use slidegate_core::{Counter, Entry, Fixed, Gcra, Holder, InFlight, Kind, Limit, Log, Spent, State};

use super::subject::Tracked;
use crate::store::board::{Board, Note};

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

pub(super) fn write_board(board: &Board, words: &mut Vec<u64>) {
    words.extend([board.version, board.notes.len() as u64]);
    for Note { id, text, expires_at_ms } in &board.notes {
        words.push(*expires_at_ms);
        write_text(id, words);
        write_text(text, words);
    }
}

pub(super) fn read_board(input: &mut &[u64]) -> Option<Board> {
    let (version, count) = (take(input)?, take(input)?);
    let read_note = |_| {
        let expires_at_ms = take(input)?;
        Some(Note { id: read_text(input)?, text: read_text(input)?, expires_at_ms })
    };
    let notes = (0..count).map(read_note).collect::<Option<_>>()?;
    Some(Board { version, notes })
}

/// Its length in bytes, and the bytes, with zeros up to a whole word.
fn write_text(text: &str, words: &mut Vec<u64>) {
    words.push(text.len() as u64);
    words.extend(text.as_bytes().chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
}

fn read_text(input: &mut &[u64]) -> Option<String> {
    let length = usize::try_from(take(input)?).ok()?;
    let (words, rest) = input.split_at_checked(length.div_ceil(8))?;
    *input = rest;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(length);
    String::from_utf8(bytes).ok()
}
