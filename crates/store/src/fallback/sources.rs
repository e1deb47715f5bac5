//! Counts of answers by source.

use std::sync::atomic::{AtomicU64, Ordering};

use slidegate_core::Source;

/// Number of answers by source.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct SourceCounts {
    /// The store.
    pub store: u64,
    /// The deny cache.
    pub cache: u64,
    /// The state of this node, while the store was unavailable.
    pub local: u64,
    /// None: the answer that a rule configures for an unavailable store.
    pub assumed: u64,
}

/// Counters of answers by source.
#[derive(Default, Debug)]
pub(super) struct SourceCounters {
    store: AtomicU64,
    cache: AtomicU64,
    local: AtomicU64,
    assumed: AtomicU64,
}

impl SourceCounters {
    pub(super) fn add(&self, source: Source) {
        let count = match source {
            Source::Store => &self.store,
            Source::Cache => &self.cache,
            Source::Local => &self.local,
            Source::Assumed => &self.assumed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> SourceCounts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SourceCounts {
            store: of(&self.store),
            cache: of(&self.cache),
            local: of(&self.local),
            assumed: of(&self.assumed),
        }
    }
}
