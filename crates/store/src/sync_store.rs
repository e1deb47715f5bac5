//! Stores that may decide without waiting.

use std::sync::Arc;

use crate::{Fallback, Memory, Store};

/// Store that may be the memory of this process, which decides without a future.
pub trait SyncStore: Store {
    /// The memory with the state, if it is there.
    fn as_memory(&self) -> Option<&Memory>;
}

impl SyncStore for Memory {
    #[inline]
    fn as_memory(&self) -> Option<&Memory> {
        Some(self)
    }
}

impl<S: SyncStore> SyncStore for Arc<S> {
    #[inline]
    fn as_memory(&self) -> Option<&Memory> {
        S::as_memory(self)
    }
}

/// The state is in the other store, and in memory only while that is unavailable.
impl<S: Store> SyncStore for Fallback<S> {
    #[inline]
    fn as_memory(&self) -> Option<&Memory> {
        None
    }
}
