//! How much may have come of calls that are not complete, over all connections: what comes at once takes none of it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The most in all. A client may have a message under way in each of its calls, and could have many connections.
const MAX_BYTES: usize = 64 << 20;

/// What has come of calls that are not complete.
#[derive(Default)]
pub(crate) struct Unfinished(AtomicUsize);

impl Unfinished {
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
        self.of.0.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_BYTES
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        self.of.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_there_for_others() {
        let all = Unfinished::default();
        let (mut one, mut other) = (all.part(), all.part());
        assert!(one.grow(MAX_BYTES - 1) && other.grow(1));
        assert!(!other.grow(1));
        drop(one);
        assert!(other.grow(1));
        drop(other);
        assert!(all.part().grow(MAX_BYTES));
        assert_eq!(all.0.into_inner(), 0);
    }
}
