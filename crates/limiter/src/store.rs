//! Where state lives: two atomic verbs, and nothing about policies.

use std::future::Future;
use std::sync::Arc;

use slidegate_core::{Limit, LimitId, Receipt, Verdict};

use crate::key::{Key, Space};

#[cfg(feature = "redis")]
pub mod fallback;
pub mod memory;
#[cfg(feature = "redis")]
pub mod redis;

/// The most limits that one request may touch.
pub const MAX_LIMITS: usize = 32;

/// Keeps what limits remember of keys, and decides atomically.
pub trait Store: Send + Sync {
    /// What can go wrong besides a refusal, which is an answer and not an error.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Whether it may repeat a denial without looking. Then a space whose charges may be given back has to be known before.
    const REMEMBERS_DENIALS: bool = false;

    /// Told of a space in which charges may be given back: by permits, or because a request on several subjects is denied by
    /// another of them.
    fn expect_refunds(&self, _space: Space) {}

    /// Decides a request: charges everything, or nothing.
    fn decide(&self, call: &Call<'_>) -> impl Future<Output = Result<Verdict, Self::Error>> + Send;

    /// Replaces the costs that an admitted request recorded, once.
    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<SettleOutcome, Self::Error>> + Send;
}

/// Limiters of different names may share a store; see [`Builder::store`](crate::Builder::store).
impl<S: Store> Store for Arc<S> {
    type Error = S::Error;

    const REMEMBERS_DENIALS: bool = S::REMEMBERS_DENIALS;

    fn expect_refunds(&self, space: Space) {
        S::expect_refunds(self, space);
    }

    fn decide(&self, call: &Call<'_>) -> impl Future<Output = Result<Verdict, Self::Error>> + Send {
        S::decide(self, call)
    }

    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<SettleOutcome, Self::Error>> + Send {
        S::settle(self, settlement)
    }
}

/// One request, as a store sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The time of the request, for stores without a clock of their own.
    pub now_ms: u64,
    /// An id that no other request has, for in-flight limits.
    pub holder: u64,
    /// What it charges.
    pub charges: &'a [Charge<'a>],
}

/// A cost to one subject, under all the limits that apply to it.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// The rule or limiter whose subject it is.
    pub space: Space,
    /// The subject.
    pub key: &'a Key<'a>,
    /// Its limits; no two with the same id.
    pub limits: &'a [Limit],
    /// Units asked for; 0 only looks.
    pub cost: u64,
}

/// An admitted request whose costs are to be replaced.
#[derive(Clone, Debug)]
pub struct Settlement<'a> {
    /// The time of the request, for stores without a clock of their own.
    pub now_ms: u64,
    /// The permit's id.
    pub id: u64,
    /// The cost that counts instead; 0 refunds.
    pub cost: u64,
    /// What was recorded, subject by subject.
    pub subjects: Vec<Charged<'a>>,
}

/// What an admitted request recorded for one subject.
#[derive(Clone, Debug)]
pub struct Charged<'a> {
    /// The rule or limiter whose subject it is.
    pub space: Space,
    /// The subject.
    pub key: Key<'a>,
    /// Where it was recorded.
    pub receipts: Vec<(LimitId, Receipt)>,
}

/// What came of a refund or a settlement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettleOutcome {
    /// The recorded cost was replaced.
    Settled,
    /// What was recorded has left every window: there is nothing to replace.
    Expired,
    /// The permit was used before; nothing changed.
    AlreadySpent,
    /// The key already remembers as many spent permits as it may; nothing changed.
    TooManySpent,
}
