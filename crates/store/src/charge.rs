//! Requests to a store: [`ChargeRequest`], [`ReserveRequest`], [`ForgetRequest`] and their
//! [`Charge`]s.

use slidegate_core::{Limit, LimitId, LimitKind};

use crate::{Key, Space};

/// Request to a store: the charges of one check.
#[derive(Clone, Copy, Debug)]
pub struct ChargeRequest<'a> {
    /// Time of the request, for stores without a clock of their own.
    pub now_ms: u64,
    /// Unique id of the request, for in-flight limits and permits.
    pub holder: u64,
    /// Its charges.
    pub charges: &'a [Charge<'a>],
}

/// Charge: a cost to one subject, under all limits that apply to it.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// The rule or limiter whose subject it is.
    pub space: Space,
    /// The subject.
    pub key: &'a Key<'a>,
    /// Its limits, with distinct ids.
    pub limits: &'a [Limit],
    /// Units to charge, or to give back; 0 is a peek.
    pub cost: u64,
}

/// Request whose charges may be given back later.
#[derive(Clone, Copy, Debug)]
pub struct ReserveRequest<'a> {
    /// The request.
    pub charge: ChargeRequest<'a>,
    /// Refund scope of each charge.
    pub refunds: &'a [RefundScope],
}

impl<'a> ReserveRequest<'a> {
    /// Request without refunds.
    pub fn without_refunds(charge: ChargeRequest<'a>) -> Self {
        Self { charge, refunds: &[] }
    }

    /// Refund scope of a charge.
    pub fn refund_scope(&self, charge: usize) -> RefundScope {
        self.refunds.get(charge).copied().unwrap_or_default()
    }
}

/// Refund scope: the part of a charge that may be given back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RefundScope {
    /// Nothing. No permit is opened.
    #[default]
    Nothing,
    /// In-flight slots, which end with the request whatever its cost.
    InFlight,
    /// Everything.
    Everything,
}

impl RefundScope {
    /// True if it includes charges under this limit.
    pub fn includes(self, limit: &Limit) -> bool {
        match self {
            Self::Nothing => false,
            Self::InFlight => limit.needs_id(),
            Self::Everything => !matches!(limit.kind(), LimitKind::Gcra { .. }),
        }
    }

    /// True if the permit needs a number. In-flight slots do not: they are found by the holder's
    /// id.
    pub fn is_numbered(self, limits: &[Limit]) -> bool {
        limits.iter().any(|limit| self.includes(limit) && !limit.needs_id())
    }
}

/// Request to delete the state of a subject.
#[derive(Clone, Copy, Debug)]
pub struct ForgetRequest<'a> {
    /// The rule or limiter whose subject it is.
    pub space: Space,
    /// The subject.
    pub key: &'a Key<'a>,
    /// All limits under which it may have state.
    pub limits: &'a [LimitId],
}

/// Stricter of two limits with one history: it decides where charges of one request share a state.
pub fn stricter(one: &Limit, other: &Limit) -> Limit {
    if is_stricter(other, one) { *other } else { *one }
}

/// True if a limit is stricter than another with the same history.
pub fn is_stricter(one: &Limit, other: &Limit) -> bool {
    let bounds = |limit: &Limit| (limit.ceiling(), limit.quota());
    bounds(one) < bounds(other)
}
