//! Open permits of one subject, a bit each.
//!
//! A permit is identified by a generation and a number. Numbers are consecutive, so that 256
//! neighbours share a chunk of 48 bytes. A chunk is dropped when all of its permits are spent, or
//! when their charges have left their windows. So a million open permits take 200 kB, and spent
//! ones nothing.
//!
//! A generation is the unique id of the request that began it. A subject that is forgotten begins a
//! new generation, so all permits from before are void, whatever their numbers.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Maximum number of open permits of one subject.
pub const MAX_OPEN_PERMITS: u64 = 1 << 20;

/// Maximum bytes per permit among many, if all of its neighbours are spent: a chunk, a third of a
/// spent chunk that is not dropped yet, and a quarter of that in spare capacity.
pub const MAX_PERMIT_BYTES: usize = size_of::<Chunk>() * 4 / 3 * 5 / 4;

/// Maximum number of generations. Beyond it, the permits of the first are void.
const MAX_GENERATIONS: usize = 64;
const CHUNK_BITS: u64 = 64 * CHUNK_WORDS as u64;
const CHUNK_WORDS: usize = 4;

/// Grant: identifies a permit of a subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Generation.
    pub generation: u64,
    /// Number in the generation; `None` if the permit stands for in-flight slots only, which are
    /// found by the holder's id.
    pub number: Option<u64>,
}

/// State of a permit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermitState {
    /// Granted and not settled.
    Open,
    /// Settled, or its charges have left their windows.
    Closed,
    /// Unknown generation: the subject was reset since.
    Void,
}

/// Open permits of one subject. One word until the first permit, since most subjects have none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OpenPermits(Option<Box<PermitTable>>);

#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct PermitTable {
    /// Generations, in the order of their numbers. The last one is in use unless `ended`.
    generations: Vec<Generation>,
    ended: bool,
    /// Time at which everything that was granted has left its windows.
    until_ms: u64,
    /// Number of open permits.
    open: u64,
    /// Chunks, in the order of their numbers.
    chunks: VecDeque<Chunk>,
    /// Number of chunks without an open permit that are not dropped yet.
    spent: usize,
    /// Time before which no chunk expires.
    over_ms: u64,
}

/// Numbers of one generation: from `first` up to, but excluding, `next`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Generation {
    id: u64,
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
        let (word, bit) = bit_of(number);
        self.open[word] & bit != 0
    }
}

impl OpenPermits {
    /// True if it has no permits, neither open nor spent.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Number of open permits.
    pub fn open(&self) -> u64 {
        self.0.as_ref().map_or(0, |table| table.open)
    }

    /// True if the maximum number of permits is open.
    pub fn is_full(&self) -> bool {
        self.open() >= MAX_OPEN_PERMITS
    }

    /// Drops what has no effect any more at `now_ms`.
    pub fn prune(&mut self, now_ms: u64) {
        match &mut self.0 {
            Some(table) if table.until_ms > now_ms => table.prune(now_ms),
            _ => self.0 = None,
        }
    }

    /// Grants in-flight slots that are taken until `until_ms`. `id` is the unique id of the
    /// request.
    pub fn grant_slots(&mut self, id: u64, until_ms: u64) -> Grant {
        let table = self.0.get_or_insert_default();
        table.until_ms = table.until_ms.max(until_ms);
        Grant { generation: table.current_generation(id).id, number: None }
    }

    /// Opens a permit, whose charges have left their windows at `until_ms`. `id` is the unique id
    /// of the request.
    pub fn grant(&mut self, id: u64, until_ms: u64) -> Grant {
        let table = self.0.get_or_insert_default();
        table.until_ms = table.until_ms.max(until_ms);
        let generation = table.current_generation(id);
        let (id, number) = (generation.id, generation.next);
        generation.next += 1;
        table.open(number, until_ms);
        Grant { generation: id, number: Some(number) }
    }

    /// State of a permit. One for in-flight slots is open as long as its generation exists.
    pub fn state(&self, grant: Grant) -> PermitState {
        let Some(table) = &self.0 else { return PermitState::Void };
        let mut generations = table.generations.iter().filter(|one| one.id == grant.generation);
        match grant.number {
            None if generations.next().is_some() => PermitState::Open,
            Some(number) if generations.any(|one| (one.first..one.next).contains(&number)) => {
                let is_open = table.find(number).is_ok_and(|at| table.chunks[at].is_open(number));
                if is_open { PermitState::Open } else { PermitState::Closed }
            }
            _ => PermitState::Void,
        }
    }

    /// Closes a permit that is open.
    pub fn close(&mut self, number: u64) {
        if let Some(table) = &mut self.0 {
            table.close(number);
        }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |table| table.heap_bytes())
    }

    /// Maximum bytes on the heap after another permit.
    pub fn grown_bytes(&self) -> usize {
        let Some(table) = &self.0 else {
            return size_of::<PermitTable>()
                + 4 * size_of::<Generation>()
                + more_chunks(0) * size_of::<Chunk>();
        };
        let (generations, chunks) = (&table.generations, &table.chunks);
        let generations = if generations.len() == generations.capacity() { generations.len() } else { 0 };
        let chunks = if chunks.len() == chunks.capacity() { more_chunks(chunks.len()) } else { 0 };
        table.heap_bytes() + generations * size_of::<Generation>() + chunks * size_of::<Chunk>()
    }

    /// Serialized form; see [`OpenPermits::from_words`].
    pub fn to_words(&self) -> Vec<u64> {
        let Some(table) = &self.0 else { return Vec::new() };
        let mut words = alloc::vec![table.until_ms, table.generations.len() as u64];
        words.extend(table.generations.iter().flat_map(|&Generation { id, first, next }| [id, first, next]));
        for Chunk { index, until_ms, open } in &table.chunks {
            words.extend([*index, *until_ms].into_iter().chain(*open));
        }
        words
    }

    /// Permits from their serialized form, with the generation ended; `None` if the words are
    /// invalid.
    pub fn from_words(words: &[u64]) -> Option<Self> {
        let [until_ms, generations, rest @ ..] = words else { return words.is_empty().then(Self::default) };
        let split = usize::try_from(*generations)
            .ok()
            .filter(|generations| (1..=MAX_GENERATIONS).contains(generations))?
            .checked_mul(3)?;
        let (generations, chunks) = rest.split_at_checked(split)?;
        let (generations, _) = generations.as_chunks::<3>();
        let (chunks, cut) = chunks.as_chunks::<{ 2 + CHUNK_WORDS }>();
        let generations = generations.iter().map(|&[id, first, next]| Generation { id, first, next });
        let chunks =
            chunks.iter().map(|&[index, until_ms, ref open @ ..]| Chunk { index, until_ms, open: *open });
        let (generations, chunks): (Vec<Generation>, VecDeque<Chunk>) =
            (generations.collect(), chunks.collect());
        let sound = cut.is_empty()
            && generations.iter().all(|generation| generation.first <= generation.next)
            && generations.is_sorted_by(|one, two| one.next <= two.first)
            && chunks.iter().is_sorted_by(|one, two| one.index < two.index);
        let open = chunks.iter().map(Chunk::count).sum();
        let spent = chunks.iter().filter(|chunk| chunk.is_spent()).count();
        let table =
            PermitTable { generations, ended: true, until_ms: *until_ms, open, chunks, spent, over_ms: 0 };
        sound.then(|| Self(Some(Box::new(table))))
    }
}

impl PermitTable {
    /// Generation in use, or a new one.
    fn current_generation(&mut self, id: u64) -> &mut Generation {
        if self.ended || self.generations.is_empty() {
            self.ended = false;
            let next = self.generations.last().map_or(0, |generation| generation.next);
            // In a chunk of its own, so that no chunk is shared by two generations.
            let first = next.next_multiple_of(CHUNK_BITS);
            if self.generations.len() == MAX_GENERATIONS {
                self.drop_first_generation();
            }
            self.generations.push(Generation { id, first, next: first });
        }
        self.generations.last_mut().expect("one is in use")
    }

    fn drop_first_generation(&mut self) {
        let end = self.generations.remove(0).next.div_ceil(CHUNK_BITS);
        while self.chunks.front().is_some_and(|chunk| chunk.index < end) {
            self.drop_first_chunk();
        }
    }

    /// Drops expired chunks behind chunks that last longer.
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
        let (index, (word, bit)) = (number / CHUNK_BITS, bit_of(number));
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
        let (word, bit) = bit_of(number);
        chunk.open[word] &= !bit;
        self.open -= 1;
        self.spent += usize::from(chunk.is_spent());
        // At least a quarter of the chunks is dropped each time, so that the amortised cost of a
        // permit is constant.
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

/// Word of a chunk that contains a permit, and its bit there.
fn bit_of(number: u64) -> (usize, u64) {
    ((number / 64) as usize % CHUNK_WORDS, 1 << (number % 64))
}

/// Number of chunks by which a full list grows: few, because permits may be most of the memory of a
/// subject.
fn more_chunks(length: usize) -> usize {
    length / 8 + 4
}
