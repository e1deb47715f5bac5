//! How much may have come of calls that are not complete: what comes at once takes none of it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The most over all connections. A client may have a message under way in each of its calls, and could have many connections.
const MAX_BYTES: usize = 64 << 20;
/// The most on one connection of calls that need no token.
const MAX_OPEN_BYTES: usize = 8 << 10;

/// What has come of calls that are not complete.
pub(crate) struct Unfinished {
    bytes: AtomicUsize,
    max_bytes: usize,
}

impl Unfinished {
    /// Of what all connections share.
    pub(crate) fn of_all() -> Self {
        Self { bytes: AtomicUsize::new(0), max_bytes: MAX_BYTES }
    }

    /// Of the calls on one connection that need no token: whoever fills this is in nobody's way but its own.
    pub(super) fn of_one() -> Self {
        Self { bytes: AtomicUsize::new(0), max_bytes: MAX_OPEN_BYTES }
    }

    /// A part of it, which is nothing yet.
    pub(super) fn part(&self) -> Part<'_> {
        Part { of: self, bytes: 0 }
    }
}

/// What one call has of it, until it is dropped.
pub(super) struct Part<'a> {
    of: &'a Unfinished,
    bytes: usize,
}

impl Part<'_> {
    /// So much more; whether there is room for it.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.of.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.of.max_bytes
    }

    /// So much less.
    pub(super) fn shrink(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.of.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        self.of.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_there_for_others() {
        for all in [Unfinished::of_all(), Unfinished::of_one()] {
            let (mut one, mut other) = (all.part(), all.part());
            assert!(one.grow(all.max_bytes - 1) && other.grow(1));
            assert!(!other.grow(1));
            one.shrink(1);
            assert!(!other.grow(1));
            drop(one);
            assert!(other.grow(1));
            drop(other);
            assert!(all.part().grow(all.max_bytes));
            assert_eq!(all.bytes.into_inner(), 0);
        }
    }
}
