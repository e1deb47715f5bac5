//! Id of a limit: its kind, its name and its window, as numbers.

/// Kind, name and maximum number of entries in one word, so that limits, which are compared at
/// every decision, compare as four integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PackedId(u64);

impl PackedId {
    pub(crate) const fn new(tag: Tag, name: u32, max_entries: u64) -> Self {
        // At most 2^16 entries, stored one lower.
        Self(tag as u64 | (max_entries - 1) << 8 | (name as u64) << 32)
    }

    #[inline(always)]
    pub(crate) const fn tag(self) -> Tag {
        match self.0 as u8 {
            0 => Tag::Log,
            1 => Tag::Counter,
            2 => Tag::Fixed,
            3 => Tag::Gcra,
            _ => Tag::InFlight,
        }
    }

    pub(crate) const fn name(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline(always)]
    pub(crate) const fn max_entries(self) -> usize {
        ((self.0 >> 8) as u16) as usize + 1
    }
}

/// Kind without its parameters, which compares as an integer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Tag {
    Log,
    Counter,
    Fixed,
    Gcra,
    InFlight,
}

/// Id of the history in which a limit counts. Excludes the quota: a changed quota keeps the
/// history.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LimitId {
    pub(crate) tag: Tag,
    pub(crate) name: u32,
    pub(crate) window_ms: u64,
}

impl Tag {
    pub(crate) const fn from_word(word: u64) -> Option<Self> {
        Some(match word as u32 {
            0 => Self::Log,
            1 => Self::Counter,
            2 => Self::Fixed,
            3 => Self::Gcra,
            4 => Self::InFlight,
            _ => return None,
        })
    }
}

impl LimitId {
    /// True if it counts holders, which are released, and not what they cost.
    #[inline]
    pub const fn is_in_flight(self) -> bool {
        matches!(self.tag, Tag::InFlight)
    }

    /// True if it is that of a log.
    #[inline]
    pub const fn is_log(self) -> bool {
        matches!(self.tag, Tag::Log)
    }

    /// The id as two numbers, for permits.
    #[inline]
    pub const fn to_words(self) -> [u64; 2] {
        [self.tag as u64 | (self.name as u64) << 32, self.window_ms]
    }

    /// The id behind [`LimitId::to_words`].
    pub const fn from_words([head, window_ms]: [u64; 2]) -> Option<Self> {
        match Tag::from_word(head) {
            Some(tag) => Some(Self { tag, name: (head >> 32) as u32, window_ms }),
            None => None,
        }
    }
}

/// FNV-1a hash of a name.
pub(crate) const fn fnv1a(bytes: &[u8]) -> u32 {
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}
