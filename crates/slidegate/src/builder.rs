//! Builder of limiters.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use slidegate_core::Limit;

use crate::async_limiter::AsyncLimiter;
use crate::clock::{Clock, SystemClock};
use crate::engine::Engine;
use crate::limiter::Limiter;
use crate::permit::Signer;
use slidegate_store::Space;
use slidegate_store::memory::{Memory, PreparedLimits, SnapshotError};
use slidegate_store::random;
use slidegate_store::{MAX_LIMITS, Store};

/// Settings of a limiter; [`Limiter::builder`] creates it.
#[derive(Debug)]
pub struct Builder<S = Memory, C = SystemClock> {
    limits: Vec<Limit>,
    name: String,
    secret: Option<[u8; 32]>,
    refundable: bool,
    #[cfg(feature = "tokio")]
    max_waiting: usize,
    clock: C,
    store: S,
}

/// Error of [`Builder::build`] and [`Builder::build_async`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There are no limits.
    #[error("a limiter needs at least one limit")]
    NoLimits,
    /// There are more limits than [`MAX_LIMITS`].
    #[error("a limiter has at most {MAX_LIMITS} limits, not {0}")]
    TooManyLimits(usize),
    /// Two limits have the same history.
    #[error("two limits count in the same history as {0}: give one of them a name or drop it")]
    SameHistory(Limit),
}

impl Builder {
    pub(crate) fn new(limits: impl IntoIterator<Item = Limit>) -> Self {
        Self {
            limits: limits.into_iter().collect(),
            name: String::new(),
            secret: None,
            refundable: false,
            #[cfg(feature = "tokio")]
            max_waiting: crate::wait_queue::MAX_WAITING,
            clock: SystemClock::new(),
            store: Memory::default(),
        }
    }
}

impl<C> Builder<Memory, C> {
    /// Memory bound of the in-memory store, in bytes.
    pub fn max_memory(self, bytes: usize) -> Self {
        Self { store: Memory::new(bytes), ..self }
    }

    /// Loads the state that [`Limiter::save`] wrote. Set [`Builder::max_memory`] before this, and
    /// the same [`Builder::permit_secret`] as then so that permits stay valid.
    pub fn load(self, path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        let store = Memory::load(path.as_ref(), self.store.max_memory())?;
        Ok(Self { store, ..self })
    }
}

impl<S: Store<Error = Infallible> + AsRef<Memory>, C: Clock> Builder<S, C> {
    /// Limiter in memory. For other stores there is [`Builder::build_async`].
    pub fn build(self) -> Result<Limiter<S, C>, BuildError> {
        self.engine().map(Limiter)
    }
}

impl<S: Store, C: Clock> Builder<S, C> {
    /// Limiter over any store, with `async` operations.
    pub fn build_async(self) -> Result<AsyncLimiter<S, C>, BuildError> {
        self.engine().map(AsyncLimiter)
    }

    fn engine(self) -> Result<Arc<Engine<S, C>>, BuildError> {
        self.check()?;
        let space = Space::named(&self.name);
        if self.refundable {
            self.store.expect_refunds(space);
        }
        Ok(Arc::new(Engine {
            store: self.store,
            refundable: self.refundable,
            clock: self.clock,
            in_flight: self.limits.iter().any(Limit::needs_id),
            terms: PreparedLimits::new(space, self.limits.into_boxed_slice()),
            signer: Signer::new(&self.secret.unwrap_or_else(random)),
            ids: AtomicU64::new(u64::from_le_bytes(random())),
            #[cfg(feature = "tokio")]
            queue: crate::wait_queue::WaitQueue::bounded(self.max_waiting),
        }))
    }
}

impl<S, C> Builder<S, C> {
    /// Name of the limiter. Limiters with different names on one store share nothing.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Secret that signs permits, shared by the nodes that accept each other's permits. The default
    /// is random: then permits end with the process.
    pub fn permit_secret(self, secret: [u8; 32]) -> Self {
        Self { secret: Some(secret), ..self }
    }

    /// Allows [`AsyncLimiter::reserve`] on stores with a deny cache, on every node: the store has
    /// to know in advance that charges may be given back. In memory it makes no difference.
    pub fn refundable(self) -> Self {
        Self { refundable: true, ..self }
    }

    /// Maximum of waiters in [`Limiter::until_ready`] at the same time, 10,000 by default; one key
    /// has at most a sixteenth of that. Further calls fail with
    /// [`WaitError::QueueFull`](crate::WaitError).
    #[cfg(feature = "tokio")]
    pub fn max_waiting(self, waiters: usize) -> Self {
        Self { max_waiting: waiters, ..self }
    }

    /// Clock; the default is [`SystemClock`].
    pub fn clock<D: Clock>(self, clock: D) -> Builder<S, D> {
        self.replace(|store, _| (store, clock))
    }

    /// Store; the default is [`Memory`]. Limiters share one through an `Arc`, and their names
    /// separate their keys:
    ///
    /// ```
    /// use slidegate::{Limit, Limiter, Memory};
    /// use std::sync::Arc;
    ///
    /// let store = Arc::new(Memory::new(64 << 20));
    /// let login = Limiter::builder([Limit::per_minute(5)]).name("login").store(store.clone()).build()?;
    /// let search = Limiter::builder([Limit::per_second(50)]).name("search").store(store).build()?;
    /// assert!(login.check("alice").is_allowed());
    /// assert_eq!(search.check("alice").remaining(), Some(49));
    /// # Ok::<(), slidegate::BuildError>(())
    /// ```
    pub fn store<T: Store>(self, store: T) -> Builder<T, C> {
        self.replace(|_, clock| (store, clock))
    }

    fn replace<T, D>(self, replace: impl FnOnce(S, C) -> (T, D)) -> Builder<T, D> {
        let (store, clock) = replace(self.store, self.clock);
        Builder {
            limits: self.limits,
            name: self.name,
            secret: self.secret,
            refundable: self.refundable,
            #[cfg(feature = "tokio")]
            max_waiting: self.max_waiting,
            clock,
            store,
        }
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
