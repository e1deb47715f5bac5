//! Backend: the store of the server, in this process or in Redis or Valkey.

use std::ops::Deref;

use slidegate::store::redis::{RedisConfig, RedisError};
use slidegate::store::{
    Admission, ChargeRequest, ForgetRequest, Note, Notes, PostOutcome, ReserveRequest, Settlement,
};
use slidegate::{
    Fallback, IdempotentOutcome, Memory, OnStoreError, Redis, SettleOutcome, Space, Store, SyncStore, Verdict,
};

use crate::config::error::ConfigError;
use crate::config::{Config, Secret, StoreKind, StoreSettings};

/// Error of the store.
pub(crate) type StoreError = RedisError;

/// Store of the server.
// There is one per process, so the size of its variants does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Backend {
    /// In this process.
    Memory(Memory),
    /// Shared by all nodes, with a fallback while it is unavailable.
    Redis(Fallback<Redis>),
}

impl Backend {
    /// Empty store for a policy file. It connects to nothing yet.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let settings = &config.settings.store;
        match settings.kind {
            StoreKind::Memory => Ok(Self::Memory(Memory::new(settings.max_memory))),
            StoreKind::Redis => {
                let redis = Redis::new(&redis_config(settings)?);
                Ok(Self::over(redis, config))
            }
        }
    }

    /// Checks the settings of the store, without creating one.
    pub(crate) fn check(settings: &StoreSettings) -> Result<(), ConfigError> {
        match settings.kind {
            StoreKind::Memory => Ok(()),
            StoreKind::Redis => redis_config(settings).map(drop),
        }
    }

    /// Redis, with the fallback of every rule.
    pub fn over(redis: Redis, config: &Config) -> Self {
        let settings = &config.settings.store;
        let mut fallback = Fallback::new(redis, settings.instances).max_memory(settings.max_memory);
        for rule in config.policy.rules() {
            fallback = fallback.rule(rule.name(), rule.on_store_error());
        }
        Self::Redis(fallback)
    }
}

fn redis_config(store: &StoreSettings) -> Result<RedisConfig, ConfigError> {
    let config = if let Some(url) = &store.url {
        RedisConfig::parse(url)?
    } else if let Some(sentinel) = &store.sentinel {
        RedisConfig::sentinel(sentinel.nodes.iter().map(Secret::deref), &sentinel.name)?
    } else if !store.nodes.is_empty() {
        RedisConfig::cluster(store.nodes.iter().map(Secret::deref))?
    } else {
        return Err(ConfigError::NoServer);
    };
    let config = config.timeout(store.timeout).deny_cache(store.deny_cache);
    match &store.prefix {
        Some(prefix) => Ok(config.prefix(prefix)?),
        None => Ok(config),
    }
}

/// Result of a call that cannot fail.
fn infallible<T>(result: Result<T, std::convert::Infallible>) -> Result<T, RedisError> {
    result.map_err(|never| match never {})
}

/// Calls to a server are boxed, so that the futures of calls in memory stay small.
impl Store for Backend {
    type Error = RedisError;

    const HAS_DENY_CACHE: bool = true;

    fn expect_refunds(&self, space: Space) {
        match self {
            Self::Memory(memory) => memory.expect_refunds(space),
            Self::Redis(redis) => redis.expect_refunds(space),
        }
    }

    fn on_store_error(&self, space: Space, answer: OnStoreError) {
        match self {
            Self::Memory(memory) => memory.on_store_error(space, answer),
            Self::Redis(redis) => Store::on_store_error(redis, space, answer),
        }
    }

    fn clear_deny_cache(&self) {
        match self {
            Self::Memory(memory) => memory.clear_deny_cache(),
            Self::Redis(redis) => redis.clear_deny_cache(),
        }
    }

    fn nodes(&self) -> u64 {
        match self {
            Self::Memory(memory) => memory.nodes(),
            Self::Redis(redis) => redis.nodes(),
        }
    }

    async fn decide(&self, call: &ChargeRequest<'_>) -> Result<Verdict, RedisError> {
        match self {
            Self::Memory(memory) => Ok(memory.decide_now(call)),
            Self::Redis(redis) => Box::pin(redis.decide(call)).await,
        }
    }

    async fn reserve(&self, request: &ReserveRequest<'_>) -> Result<Admission, RedisError> {
        match self {
            Self::Memory(memory) => Ok(memory.reserve_now(request)),
            Self::Redis(redis) => Box::pin(redis.reserve(request)).await,
        }
    }

    async fn decide_idempotent(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> Result<IdempotentOutcome, RedisError> {
        match self {
            Self::Memory(memory) => infallible(memory.decide_idempotent(request, idempotency_key).await),
            Self::Redis(redis) => Box::pin(redis.decide_idempotent(request, idempotency_key)).await,
        }
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Vec<SettleOutcome>, RedisError> {
        match self {
            Self::Memory(memory) => Ok(memory.settle_now(settlement)),
            Self::Redis(redis) => Box::pin(redis.settle(settlement)).await,
        }
    }

    async fn give_back(&self, call: &ChargeRequest<'_>) -> Result<Verdict, RedisError> {
        match self {
            Self::Memory(memory) => Ok(memory.give_back_now(call)),
            Self::Redis(redis) => Box::pin(redis.give_back(call)).await,
        }
    }

    async fn forget(&self, subject: &ForgetRequest<'_>) -> Result<(), RedisError> {
        match self {
            Self::Memory(memory) => infallible(memory.forget(subject).await),
            Self::Redis(redis) => Box::pin(redis.forget(subject)).await,
        }
    }

    async fn post(&self, note: &Note, now_ms: u64) -> Result<PostOutcome, RedisError> {
        match self {
            Self::Memory(memory) => Ok(memory.post_now(note, now_ms)),
            Self::Redis(redis) => Box::pin(redis.post(note, now_ms)).await,
        }
    }

    async fn withdraw(&self, id: &str) -> Result<bool, RedisError> {
        match self {
            Self::Memory(memory) => Ok(memory.withdraw_now(id)),
            Self::Redis(redis) => Box::pin(redis.withdraw(id)).await,
        }
    }

    async fn notes(&self) -> Result<Notes, RedisError> {
        match self {
            Self::Memory(memory) => Ok(memory.notes_now()),
            Self::Redis(redis) => Box::pin(redis.notes()).await,
        }
    }
}

impl SyncStore for Backend {
    #[inline]
    fn as_memory(&self) -> Option<&Memory> {
        match self {
            Self::Memory(memory) => Some(memory),
            Self::Redis(_) => None,
        }
    }
}
