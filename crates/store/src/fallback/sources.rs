//! Who answered, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use slidegate_core::Source;

/// How many calls were answered, by who did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Sources {
    /// By the store.
    pub store: u64,
    /// By a denial of the store that still held.
    pub cache: u64,
    /// By this node's own state, while the store did not.
    pub local: u64,
    /// By nobody: what a rule says for that was answered.
    pub assumed: u64,
}

/// The same while it is counted.
#[derive(Default, Debug)]
pub(super) struct Counts {
    store: AtomicU64,
    cache: AtomicU64,
    local: AtomicU64,
    assumed: AtomicU64,
}

impl Counts {
    pub(super) fn add(&self, source: Source) {
        let count = match source {
            Source::Store => &self.store,
            Source::Cache => &self.cache,
            Source::Local => &self.local,
            Source::Assumed => &self.assumed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Sources {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Sources {
            store: of(&self.store),
            cache: of(&self.cache),
            local: of(&self.local),
            assumed: of(&self.assumed),
        }
    }
}
