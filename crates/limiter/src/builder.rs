//! How a limiter is put together.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use slidegate_core::Limit;

use crate::clock::{Clock, SystemClock};
use crate::limiter::Limiter;
use crate::permit::Signer;
use slidegate_store::Space;
use slidegate_store::memory::{Memory, PreparedLimits, SnapshotError};
use slidegate_store::random;
use slidegate_store::{MAX_LIMITS, Store};

/// The settings of a limiter; [`Limiter::builder`] starts one.
#[derive(Debug)]
pub struct Builder<S = Memory, C = SystemClock> {
    limits: Vec<Limit>,
    name: String,
    secret: Option<[u8; 32]>,
    refundable: bool,
    clock: C,
    store: S,
}

/// Why these settings make no limiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is nothing to limit by.
    #[error("a limiter needs at least one limit")]
    NoLimits,
    /// There are more than [`MAX_LIMITS`].
    #[error("a limiter has at most {MAX_LIMITS} limits, not {0}")]
    TooManyLimits(usize),
    /// Two limits would count in one history.
    #[error("two limits count in the same history as {0}: give one of them a name (Limit::named) or drop it")]
    SameHistory(Limit),
}

impl Builder {
    pub(crate) fn new(limits: impl IntoIterator<Item = Limit>) -> Self {
        Self {
            limits: limits.into_iter().collect(),
            name: String::new(),
            secret: None,
            refundable: false,
            clock: SystemClock::new(),
            store: Memory::default(),
        }
    }
}

impl<C> Builder<Memory, C> {
    /// The most bytes that the in-memory store may use.
    pub fn max_memory(self, bytes: usize) -> Self {
        Self { store: Memory::new(bytes), ..self }
    }

    /// Starts with what [`Limiter::save`] wrote. Set [`Builder::max_memory`] before, and the same
    /// [`Builder::permit_secret`] as then for permits to stay good.
    pub fn load(self, path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        let store = Memory::load(path.as_ref(), self.store.max_memory())?;
        Ok(Self { store, ..self })
    }
}

impl<S: Store, C: Clock> Builder<S, C> {
    /// The limiter, if the limits can stand side by side.
    pub fn build(self) -> Result<Limiter<S, C>, BuildError> {
        self.check()?;
        let space = Space::named(&self.name);
        if self.refundable {
            self.store.expect_refunds(space);
        }
        Ok(Limiter {
            store: self.store,
            refundable: self.refundable,
            clock: self.clock,
            in_flight: self.limits.iter().any(Limit::needs_id),
            terms: PreparedLimits::new(space, self.limits.into_boxed_slice()),
            signer: Signer::new(&self.secret.unwrap_or_else(random)),
            ids: AtomicU64::new(u64::from_le_bytes(random())),
            #[cfg(feature = "tokio")]
            lines: Default::default(),
        })
    }
}

impl<S, C> Builder<S, C> {
    /// Names the space in which its keys count. Limiters of different names on one store share nothing.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The secret that signs permits. Nodes that take each other's permits share it; without one it is random, and
    /// permits end with the process.
    pub fn permit_secret(self, secret: [u8; 32]) -> Self {
        Self { secret: Some(secret), ..self }
    }

    /// Says that charges may be given back or corrected. A store that repeats denials without looking has to know that before
    /// [`Limiter::reserve`], on every node; in memory it makes no difference.
    pub fn refundable(self) -> Self {
        Self { refundable: true, ..self }
    }

    /// Another clock.
    pub fn clock<D: Clock>(self, clock: D) -> Builder<S, D> {
        let Self { limits, name, secret, refundable, store, .. } = self;
        Builder { limits, name, secret, refundable, clock, store }
    }

    /// Another store. Limiters share one through an `Arc`; their names keep their keys apart:
    ///
    /// ```
    /// use slidegate::{Limit, Limiter, Memory};
    /// use std::sync::Arc;
    ///
    /// let store = Arc::new(Memory::new(64 << 20));
    /// let login = Limiter::builder([Limit::per_minute(5)]).name("login").store(store.clone()).build()?;
    /// let search = Limiter::builder([Limit::per_second(50)]).name("search").store(store).build()?;
    /// login.check_now("alice");
    /// assert_eq!(search.check_now("alice").remaining(), Some(49));
    /// # Ok::<(), slidegate::BuildError>(())
    /// ```
    pub fn store<T: Store>(self, store: T) -> Builder<T, C> {
        let Self { limits, name, secret, refundable, clock, .. } = self;
        Builder { limits, name, secret, refundable, clock, store }
    }

    fn check(&self) -> Result<(), BuildError> {
        let count = self.limits.len();
        if count == 0 {
            return Err(BuildError::NoLimits);
        }
        if count > MAX_LIMITS {
            return Err(BuildError::TooManyLimits(count));
        }
        for (index, limit) in self.limits.iter().enumerate() {
            if self.limits[..index].iter().any(|other| other.id() == limit.id()) {
                return Err(BuildError::SameHistory(*limit));
            }
        }
        Ok(())
    }
}
