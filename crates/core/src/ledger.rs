//! Ledger: the open permits of one subject, a bit each.
//!
//! A permit is known by the generation of its ledger and a number. Numbers are given in sequence,
//! so that 256 neighbours share a chunk of 48 bytes; a chunk goes when all of its permits are
//! spent, or when what they stand for has left its windows. So a million open permits take 200 kB,
//! and spent ones nothing.
//!
//! The generation is the id of the request that began it, which no other has. A subject that is
//! forgotten begins a new one: then no permit from before is known here, whatever its number.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Maximum number of open permits of one subject.
pub const MAX_OPEN_PERMITS: u64 = 1 << 20;

/// The most bytes that a permit takes among many, if all of its neighbours are spent: a chunk, a
/// third of one that waits to be dropped, and a quarter of that which is free.
pub const MAX_PERMIT_BYTES: usize = size_of::<Chunk>() * 4 / 3 * 5 / 4;

/// The most generations that one ledger has: beyond, the permits of the first are void.
const MAX_GENERATIONS: usize = 64;
const CHUNK_BITS: u64 = 64 * CHUNK_WORDS as u64;
const CHUNK_WORDS: usize = 4;

/// Grant: identifies a permit of a subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The generation of the ledger.
    pub generation: u64,
    /// The number in it; `None` where it stands for nothing but places in flight, which are found
    /// by the holder's id.
    pub number: Option<u64>,
}

/// State of a permit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermitState {
    /// Granted and not settled.
    Open,
    /// Settled, or its charges have left their windows.
    Closed,
    /// Not from this ledger: the subject was reset since.
    Void,
}

/// Ledger of the open permits of one subject. One word until the first permit, since most subjects
/// have none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Ledger(Option<Box<OpenPermits>>);

#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct OpenPermits {
    /// The generations, in the order of their numbers; the last one is in use unless `ended`.
    generations: Vec<Generation>,
    ended: bool,
    /// When everything that was granted has left its windows.
    until_ms: u64,
    /// How many permits are open.
    open: u64,
    /// In the order of their numbers.
    chunks: VecDeque<Chunk>,
    /// How many chunks have no open permit, and wait to be dropped.
    spent: usize,
    /// No chunk is over before this.
    over_ms: u64,
}

/// The numbers of one generation: from `first` up to, and without, `next`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Generation {
    generation: u64,
    first: u64,
    next: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Chunk {
    index: u64,
    until_ms: u64,
    open: [u64; CHUNK_WORDS],
}

impl Chunk {
    fn is_spent(&self) -> bool {
        self.open == [0; CHUNK_WORDS]
    }

    fn count(&self) -> u64 {
        self.open.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn is_open(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.open[word] & bit != 0
    }
}

impl Ledger {
    /// Whether it has no permits.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Number of open permits.
    pub fn open(&self) -> u64 {
        self.0.as_ref().map_or(0, |book| book.open)
    }

    /// Whether the maximum number of permits is open.
    pub fn is_full(&self) -> bool {
        self.open() >= MAX_OPEN_PERMITS
    }

    /// Drops what has no effect any more at `now_ms`.
    pub fn prune(&mut self, now_ms: u64) {
        match &mut self.0 {
            Some(book) if book.until_ms > now_ms => book.prune(now_ms),
            _ => self.0 = None,
        }
    }

    /// Knows of places in flight that are taken until `until_ms`; `id` is the request's, which no
    /// other has.
    pub fn grant_places(&mut self, id: u64, until_ms: u64) -> Grant {
        let book = self.0.get_or_insert_default();
        book.until_ms = book.until_ms.max(until_ms);
        Grant { generation: book.current_generation(id).generation, number: None }
    }

    /// Opens a permit, whose charges have left their windows at `until_ms`; `id` is the request's,
    /// which no other has.
    pub fn grant(&mut self, id: u64, until_ms: u64) -> Grant {
        let book = self.0.get_or_insert_default();
        book.until_ms = book.until_ms.max(until_ms);
        let era = book.current_generation(id);
        let (generation, number) = (era.generation, era.next);
        era.next += 1;
        book.open(number, until_ms);
        Grant { generation, number: Some(number) }
    }

    /// State of a permit. One for places in flight is open as long as its generation exists.
    pub fn state(&self, grant: Grant) -> PermitState {
        let Some(book) = &self.0 else { return PermitState::Void };
        let Some(number) = grant.number else {
            let known = book.generations.iter().any(|era| era.generation == grant.generation);
            return if known { PermitState::Open } else { PermitState::Void };
        };
        let is_of =
            |era: &&Generation| era.generation == grant.generation && (era.first..era.next).contains(&number);
        if !book.generations.iter().any(|era| is_of(&era)) {
            return PermitState::Void;
        }
        match book.find(number) {
            Ok(at) if book.chunks[at].is_open(number) => PermitState::Open,
            _ => PermitState::Closed,
        }
    }

    /// Closes a permit that is open.
    pub fn close(&mut self, number: u64) {
        if let Some(book) = &mut self.0 {
            book.close(number);
        }
    }

    /// Ends the generation: what is granted from now on is of another. To be called for a ledger
    /// that was read from a file, because permits that were granted after it was written have the
    /// same numbers as those to come.
    pub fn end_generation(&mut self) {
        if let Some(book) = &mut self.0 {
            book.ended = true;
        }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |book| book.heap_bytes())
    }

    /// The most bytes on the heap after another permit.
    pub fn grown_bytes(&self) -> usize {
        let Some(book) = &self.0 else {
            return size_of::<OpenPermits>()
                + 4 * size_of::<Generation>()
                + more_chunks(0) * size_of::<Chunk>();
        };
        let generations = if book.generations.len() == book.generations.capacity() {
            book.generations.capacity()
        } else {
            0
        };
        let full = book.chunks.len() == book.chunks.capacity();
        let chunks = if full { more_chunks(book.chunks.len()) } else { 0 };
        book.heap_bytes() + generations * size_of::<Generation>() + chunks * size_of::<Chunk>()
    }

    /// Serialized form; see [`Ledger::from_words`].
    pub fn to_words(&self) -> Vec<u64> {
        let Some(book) = &self.0 else { return Vec::new() };
        let mut words = alloc::vec![book.until_ms, book.generations.len() as u64];
        words.extend(book.generations.iter().flat_map(|era| [era.generation, era.first, era.next]));
        for Chunk { index, until_ms, open } in &book.chunks {
            words.extend([*index, *until_ms].into_iter().chain(*open));
        }
        words
    }

    /// Ledger from its serialized form, with its generation ended; `None` if the words are invalid.
    pub fn from_words(words: &[u64]) -> Option<Self> {
        let [until_ms, generations, rest @ ..] = words else { return words.is_empty().then(Self::default) };
        let split = usize::try_from(*generations)
            .ok()
            .filter(|generations| (1..=MAX_GENERATIONS).contains(generations))?
            .checked_mul(3)?;
        let (generations, chunks) = rest.split_at_checked(split)?;
        let (generations, _) = generations.as_chunks::<3>();
        let (chunks, cut) = chunks.as_chunks::<{ 2 + CHUNK_WORDS }>();
        let generations =
            generations.iter().map(|&[generation, first, next]| Generation { generation, first, next });
        let chunks =
            chunks.iter().map(|&[index, until_ms, ref open @ ..]| Chunk { index, until_ms, open: *open });
        let (generations, chunks): (Vec<Generation>, VecDeque<Chunk>) =
            (generations.collect(), chunks.collect());
        let sound = cut.is_empty()
            && generations.iter().all(|era| era.first <= era.next)
            && generations.is_sorted_by(|one, two| one.next <= two.first)
            && chunks.iter().is_sorted_by(|one, two| one.index < two.index);
        let open = chunks.iter().map(Chunk::count).sum();
        let spent = chunks.iter().filter(|chunk| chunk.is_spent()).count();
        let book =
            OpenPermits { generations, ended: true, until_ms: *until_ms, open, chunks, spent, over_ms: 0 };
        sound.then(|| Self(Some(Box::new(book))))
    }
}

impl OpenPermits {
    /// The generation in use, or a new one.
    fn current_generation(&mut self, id: u64) -> &mut Generation {
        if self.ended || self.generations.is_empty() {
            self.ended = false;
            let next = self.generations.last().map_or(0, |era| era.next);
            // In a chunk of its own, so that no chunk is of two generations.
            let first = next.next_multiple_of(CHUNK_BITS);
            if self.generations.len() == MAX_GENERATIONS {
                self.drop_first_generation();
            }
            self.generations.push(Generation { generation: id, first, next: first });
        }
        self.generations.last_mut().expect("one is in use")
    }

    fn drop_first_generation(&mut self) {
        let end = self.generations.remove(0).next.div_ceil(CHUNK_BITS);
        while self.chunks.front().is_some_and(|chunk| chunk.index < end) {
            self.drop_first_chunk();
        }
    }

    /// Drops what is over behind chunks that last longer.
    fn drop_over(&mut self, now_ms: u64) {
        self.chunks.retain(|chunk| !chunk.is_spent() && chunk.until_ms > now_ms);
        self.spent = 0;
        self.open = self.chunks.iter().map(Chunk::count).sum();
        self.over_ms = self.chunks.iter().map(|chunk| chunk.until_ms).min().unwrap_or(u64::MAX);
    }

    fn drop_first_chunk(&mut self) {
        if let Some(chunk) = self.chunks.pop_front() {
            self.open -= chunk.count();
            self.spent -= usize::from(chunk.is_spent());
        }
    }

    fn find(&self, number: u64) -> Result<usize, usize> {
        self.chunks.binary_search_by_key(&(number / CHUNK_BITS), |chunk| chunk.index)
    }

    fn open(&mut self, number: u64, until_ms: u64) {
        self.open += 1;
        self.over_ms = self.over_ms.min(until_ms);
        let (index, (word, bit)) = (number / CHUNK_BITS, place(number));
        match self.chunks.back_mut().filter(|chunk| chunk.index == index) {
            Some(chunk) => {
                self.spent -= usize::from(chunk.is_spent());
                chunk.open[word] |= bit;
                chunk.until_ms = chunk.until_ms.max(until_ms);
            }
            None => {
                if self.chunks.len() == self.chunks.capacity() {
                    self.chunks.reserve_exact(more_chunks(self.chunks.len()));
                }
                let mut open = [0; CHUNK_WORDS];
                open[word] = bit;
                self.chunks.push_back(Chunk { index, until_ms, open });
            }
        }
    }

    fn close(&mut self, number: u64) {
        let Ok(at) = self.find(number) else { return };
        let chunk = &mut self.chunks[at];
        if !chunk.is_open(number) {
            return;
        }
        let (word, bit) = place(number);
        chunk.open[word] &= !bit;
        self.open -= 1;
        self.spent += usize::from(chunk.is_spent());
        // A quarter at least of what is moved goes, so that a permit costs the same however many
        // there are.
        if 4 * self.spent > self.chunks.len() {
            self.chunks.retain(|chunk| !chunk.is_spent());
            self.spent = 0;
            self.shrink();
        }
    }

    fn prune(&mut self, now_ms: u64) {
        if self.open >= MAX_OPEN_PERMITS && self.over_ms <= now_ms {
            self.drop_over(now_ms);
        }
        while self.chunks.front().is_some_and(|chunk| chunk.is_spent() || chunk.until_ms <= now_ms) {
            self.drop_first_chunk();
        }
        self.shrink();
    }

    fn shrink(&mut self) {
        let length = self.chunks.len();
        if self.chunks.capacity() > length + 2 * more_chunks(length) {
            self.chunks.shrink_to(length + more_chunks(length));
        }
    }

    fn heap_bytes(&self) -> usize {
        size_of::<Self>()
            + self.generations.capacity() * size_of::<Generation>()
            + self.chunks.capacity() * size_of::<Chunk>()
    }
}

/// The word of a chunk in which a permit is, and its bit there.
fn place(number: u64) -> (usize, u64) {
    ((number / 64) as usize % CHUNK_WORDS, 1 << (number % 64))
}

/// How many chunks a full list grows by: few, because a ledger may be most of what its subject
/// takes.
fn more_chunks(length: usize) -> usize {
    length / 8 + 4
}
