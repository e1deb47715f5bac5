//! States as words, for the snapshot.

use std::io::{self, Read};

use slidegate_core::{
    Counter, Fixed, Gcra, Holder, InFlight, Limit, LimitKind, Log, LogEntry, OpenPermits, State,
};

use super::snapshot_reader::{SnapshotReader, damaged};
use super::subject::LimitState;
use crate::notes::{Note, Notes};

/// List of groups of `N` words, preceded by its length.
fn read_list<const N: usize>(input: &mut SnapshotReader<impl Read>) -> io::Result<Vec<[u64; N]>> {
    let count = input.take()?;
    input.take_groups(count)
}

pub(super) fn write_limit_state(limit: &Limit, state: &State, words: &mut Vec<u64>) {
    let mut limit_words = limit.to_words();
    if let State::Gcra(gcra) = state
        && !state.is_of(limit)
    {
        // A debt is read back under the quota that precedes it. The burst of that quota is unknown,
        // but 1 is always valid, and the next request has its own.
        (limit_words[1], limit_words[3]) = (gcra.quota, 1);
    }
    words.extend(limit_words);
    match state {
        State::Counter(counter) => {
            words.extend([counter.last_ms(), counter.previous(), counter.current()]);
        }
        State::Fixed(Fixed { last_ms, current }) => words.extend([*last_ms, *current]),
        State::Gcra(Gcra { last_ms, debt, .. }) => words.extend([*last_ms, *debt]),
        State::Log(log) => write_log(log, words),
        // Nodes that go on with a lease afterwards count twice until it leaves the window.
        State::LeaseLog(lease_log) => write_log(&lease_log.to_log(), words),
        State::InFlight(in_flight) => {
            words.extend([in_flight.last_ms(), in_flight.holders().count() as u64]);
            words.extend(in_flight.holders().flat_map(|h| [h.id, h.count, h.end_ms]));
        }
    }
}

fn write_log(log: &Log, words: &mut Vec<u64>) {
    words.extend([log.last_ms(), log.len() as u64]);
    words.extend(log.entries().flat_map(|entry| [entry.stamp_ms, entry.count]));
}

pub(super) fn read_limit_state(input: &mut SnapshotReader<impl Read>) -> io::Result<LimitState> {
    let limit = Limit::from_words(input.take_array()?).map_err(|_| damaged())?;
    let last_ms = input.take()?;
    let state = match limit.kind() {
        LimitKind::Counter => {
            let [previous, current] = input.take_array()?;
            State::Counter(Counter::new(last_ms, previous, current))
        }
        LimitKind::Fixed => State::Fixed(Fixed { last_ms, current: input.take()? }),
        LimitKind::Gcra { .. } => State::Gcra(Gcra { last_ms, debt: input.take()?, quota: limit.quota() }),
        LimitKind::Log { .. } => {
            let entries = read_list(input)?.into_iter();
            let entries = entries.map(|[stamp_ms, count]| LogEntry { stamp_ms, count });
            State::Log(Log::from_entries(last_ms, entries))
        }
        LimitKind::InFlight => {
            let holders = read_list(input)?.into_iter();
            let holders = holders.map(|[id, count, end_ms]| Holder { id, count, end_ms });
            State::InFlight(InFlight::from_holders(last_ms, holders))
        }
    };
    Ok(LimitState { limit, state })
}

pub(super) fn write_permits(permits: &OpenPermits, words: &mut Vec<u64>) {
    let permit_words = permits.to_words();
    words.push(permit_words.len() as u64);
    words.extend(permit_words);
}

pub(super) fn read_permits(input: &mut SnapshotReader<impl Read>) -> io::Result<OpenPermits> {
    let words: Vec<[u64; 1]> = read_list(input)?;
    OpenPermits::from_words(words.as_flattened()).ok_or_else(damaged)
}

/// Skips the list of spent permits of older files, which have no open permits.
pub(super) fn skip_spent(input: &mut SnapshotReader<impl Read>) -> io::Result<OpenPermits> {
    let _: Vec<[u64; 2]> = read_list(input)?;
    Ok(OpenPermits::default())
}

pub(super) fn write_notes(notes: &Notes, words: &mut Vec<u64>) {
    words.extend([notes.version, notes.notes.len() as u64]);
    for Note { id, text, expires_at_ms } in &notes.notes {
        words.push(*expires_at_ms);
        write_text(id, words);
        write_text(text, words);
    }
}

pub(super) fn read_notes(input: &mut SnapshotReader<impl Read>) -> io::Result<Notes> {
    let [version, count] = input.take_array()?;
    let read_note = |_| {
        let expires_at_ms = input.take()?;
        Ok(Note { id: read_text(input)?, text: read_text(input)?, expires_at_ms })
    };
    let notes = (0..count).map(read_note).collect::<io::Result<_>>()?;
    Ok(Notes { version, notes })
}

/// Writes the length of a text in bytes, and the bytes, padded with zeros to a whole word.
fn write_text(text: &str, words: &mut Vec<u64>) {
    words.push(text.len() as u64);
    words.extend(text.as_bytes().chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
}

fn read_text(input: &mut SnapshotReader<impl Read>) -> io::Result<String> {
    let length = input.take()?;
    let words = input.take_groups::<1>(length.div_ceil(8))?;
    let mut bytes: Vec<u8> = words.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(length as usize);
    String::from_utf8(bytes).map_err(|_| damaged())
}
