//! Window in which lines are put in the order of their starts.
//!
//! A line waits until the log has moved on by more than the reorder time, and leaves in the order of
//! (start, file, line). A heap would do the same; a ring of milliseconds does it in constant time. All
//! that waits is within the reorder time of the latest line, so no two times share a place.

use std::ops::ControlFlow;

/// End of a list of lines.
const NONE: u32 = u32::MAX;

/// Furthest that the share of a second moves a line.
const SECOND_MS: u64 = 1000;

/// Line that waits, in a batch. Small, as there are a million of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingLine {
    /// Place of its batch.
    pub(super) batch: u32,
    /// Index in the batch.
    pub(super) index: u32,
    /// How many lines of its file's second came before it, until its share of the second is known.
    pub(super) nth: NthInSecond,
}

/// How many lines of a second came before a line; or nothing, if that makes no difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NthInSecond(u32);

impl NthInSecond {
    /// Of a line that has its time.
    pub(super) const SETTLED: Self = Self(u32::MAX);

    /// Of a line after so many.
    pub(super) fn after(lines: u32) -> Self {
        Self(lines)
    }

    /// Takes the number, and leaves nothing.
    fn take(&mut self) -> Option<u32> {
        let Self(lines) = std::mem::replace(self, Self::SETTLED);
        (lines != u32::MAX).then_some(lines)
    }
}

/// Line and the next one of the same millisecond.
#[derive(Clone, Copy, Debug)]
struct WaitingNode {
    line: WaitingLine,
    next: u32,
}

/// Lines of a millisecond, in the order in which they came.
#[derive(Clone, Copy, Debug)]
struct MillisecondList {
    first: u32,
    last: u32,
}

const EMPTY: MillisecondList = MillisecondList { first: NONE, last: NONE };

/// What takes the lines that leave.
pub(super) trait OrderedLines {
    /// File and number of a line: the order of lines of one millisecond.
    fn place(&self, line: &WaitingLine) -> (usize, u64);
    /// Milliseconds after the start of its second for a line, the `nth` of its second.
    fn share_ms(&self, line: &WaitingLine, nth: u32) -> u64;
    /// Takes a line that started then, or came so late that it was given the time reached.
    fn take(&mut self, line: &WaitingLine, start_ms: u64, late_ms: u64) -> ControlFlow<()>;
}

/// Window of lines that wait.
#[derive(Debug)]
pub(super) struct ReorderWindow {
    reorder_ms: u64,
    max_lines: usize,
    /// A list per millisecond; a power of two of them.
    lists: Vec<MillisecondList>,
    /// A bit per list that is not empty.
    occupied: Vec<u64>,
    nodes: Vec<WaitingNode>,
    free: u32,
    len: usize,
    /// Nothing before it waits.
    base_ms: u64,
    /// Time of the last line that left.
    reached_ms: u64,
    leaving: Vec<WaitingLine>,
}

impl ReorderWindow {
    pub(super) fn new(reorder_ms: u64, max_lines: usize) -> Self {
        // Within a second, as lines that share one are spread over it.
        let lists = (reorder_ms + SECOND_MS + 1).next_power_of_two().max(64) as usize;
        Self {
            reorder_ms,
            max_lines,
            lists: vec![EMPTY; lists],
            occupied: vec![0; lists / 64],
            nodes: Vec::new(),
            free: NONE,
            len: 0,
            base_ms: 0,
            reached_ms: 0,
            leaving: Vec::new(),
        }
    }

    /// Lets all lines leave that started before the reorder time, as the log has reached this time.
    #[inline]
    pub(super) fn advance(&mut self, now_ms: u64, sink: &mut impl OrderedLines) -> ControlFlow<()> {
        let until_ms = now_ms.saturating_sub(self.reorder_ms);
        while self.base_ms < until_ms {
            match self.first_ms() {
                Some(first_ms) if first_ms < until_ms => self.release(first_ms, sink)?,
                _ => break,
            }
        }
        self.base_ms = self.base_ms.max(until_ms);
        ControlFlow::Continue(())
    }

    /// Adds a line, after [`advance`](Self::advance) to the time that its file has reached with it.
    #[inline]
    pub(super) fn add(
        &mut self,
        start_ms: u64,
        mut line: WaitingLine,
        sink: &mut impl OrderedLines,
    ) -> ControlFlow<()> {
        let mut start_ms = start_ms;
        if start_ms < self.base_ms {
            if let Some(nth) = line.nth.take() {
                start_ms += sink.share_ms(&line, nth);
            }
            if start_ms < self.base_ms {
                return self.give(&line, start_ms, sink);
            }
        }
        self.insert(start_ms, line);
        while self.len > self.max_lines {
            let Some(first_ms) = self.first_ms() else { break };
            self.release(first_ms, sink)?;
        }
        ControlFlow::Continue(())
    }

    /// Lets all lines leave.
    pub(super) fn finish(&mut self, sink: &mut impl OrderedLines) -> ControlFlow<()> {
        while let Some(first_ms) = self.first_ms() {
            self.release(first_ms, sink)?;
        }
        ControlFlow::Continue(())
    }

    fn slot(&self, ms: u64) -> usize {
        ms as usize & (self.lists.len() - 1)
    }

    #[inline]
    fn insert(&mut self, start_ms: u64, line: WaitingLine) {
        let node = WaitingNode { line, next: NONE };
        let place = match self.free {
            NONE => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
            place => {
                self.free = self.nodes[place as usize].next;
                self.nodes[place as usize] = node;
                place
            }
        };
        let slot = self.slot(start_ms);
        let list = &mut self.lists[slot];
        if list.first == NONE {
            list.first = place;
            self.occupied[slot / 64] |= 1 << (slot % 64);
        } else {
            self.nodes[list.last as usize].next = place;
        }
        list.last = place;
        self.len += 1;
    }

    /// Earliest time of a line that waits.
    #[inline]
    fn first_ms(&self) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        let base = self.slot(self.base_ms);
        let words = self.occupied.len();
        let mut word = self.occupied[base / 64] & (u64::MAX << (base % 64));
        let mut at = base / 64;
        // Once around, and the first word again from its start.
        for _ in 0..=words {
            if word != 0 {
                let slot = at * 64 + word.trailing_zeros() as usize;
                let ahead = slot.wrapping_sub(base) & (self.lists.len() - 1);
                return Some(self.base_ms + ahead as u64);
            }
            at = (at + 1) % words;
            word = self.occupied[at];
        }
        None
    }

    /// Lets all lines of a millisecond leave. Those whose share of the second is not known yet move on to it.
    fn release(&mut self, ms: u64, sink: &mut impl OrderedLines) -> ControlFlow<()> {
        let slot = self.slot(ms);
        let MillisecondList { first, last } = std::mem::replace(&mut self.lists[slot], EMPTY);
        let mut place = first;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        self.base_ms = self.base_ms.max(ms);
        if first == last && self.nodes[first as usize].line.nth == NthInSecond::SETTLED {
            // Most milliseconds of most logs have one line.
            let line = self.nodes[first as usize].line;
            self.nodes[first as usize].next = self.free;
            self.free = first;
            self.len -= 1;
            return self.give(&line, ms, sink);
        }
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.clear();
        while place != NONE {
            let WaitingNode { mut line, next } = self.nodes[place as usize];
            self.nodes[place as usize].next = self.free;
            self.free = place;
            self.len -= 1;
            let share_ms = line.nth.take().map_or(0, |nth| sink.share_ms(&line, nth).min(SECOND_MS - 1));
            if share_ms == 0 {
                leaving.push(line);
            } else {
                self.insert(ms + share_ms, line);
            }
            place = next;
        }
        if !leaving.is_sorted_by_key(|line| sink.place(line)) {
            leaving.sort_unstable_by_key(|line| sink.place(line));
        }
        let left = leaving.iter().try_for_each(|line| self.give(line, ms, sink));
        self.leaving = leaving;
        left
    }

    #[inline]
    fn give(&mut self, line: &WaitingLine, start_ms: u64, sink: &mut impl OrderedLines) -> ControlFlow<()> {
        let late_ms = self.reached_ms.saturating_sub(start_ms);
        self.reached_ms = self.reached_ms.max(start_ms);
        sink.take(line, self.reached_ms, late_ms)
    }
}
