//! [`LeaseStore`]: stores of which nodes may hold parts of a quota.

use std::future::Future;
use std::sync::Arc;

use slidegate_core::{LeaseClose, LeaseReply, LeaseRequest, Limit, LimitKind, Prepayment, Verdict};

use crate::{ChargeRequest, Key, Space, Store};

/// Subject of a lease, under one log.
#[derive(Clone, Copy, Debug)]
pub struct LeaseSubject<'a> {
    space: Space,
    key: &'a Key<'a>,
    limit: Limit,
}

impl<'a> LeaseSubject<'a> {
    /// Subject under this limit; `None` unless that is a log. The other kinds have no leases.
    pub fn new(space: Space, key: &'a Key<'a>, limit: Limit) -> Option<Self> {
        matches!(limit.kind(), LimitKind::Log { .. }).then_some(Self { space, key, limit })
    }

    /// The rule or limiter whose subject it is.
    pub fn space(&self) -> Space {
        self.space
    }

    /// Its key.
    pub fn key(&self) -> &'a Key<'a> {
        self.key
    }

    /// Its limit.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }
}

/// Store with leases. All its decisions see what is on lease, and [`Store::forget`] keeps it.
pub trait LeaseStore: Store {
    /// Records the request of a node. It may be sent again under a new sequence number, never under
    /// the same one. `now_ms` is the time for stores without a clock of their own.
    fn lease(
        &self,
        subject: &LeaseSubject<'_>,
        request: &LeaseRequest,
        now_ms: u64,
    ) -> impl Future<Output = Result<LeaseReply, Self::Error>> + Send;

    /// Ends a lease; returns whether it was newer than the last request of its node.
    fn close_lease(
        &self,
        subject: &LeaseSubject<'_>,
        close: &LeaseClose,
        now_ms: u64,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// [`Store::decide`] with a prepayment for every limit of every charge, in order. A prepayment
    /// is void if its lease has changed since, and where the store cannot take it.
    fn decide_prepaid(
        &self,
        call: &ChargeRequest<'_>,
        prepayments: &[Option<Prepayment>],
    ) -> impl Future<Output = Result<Verdict, Self::Error>> + Send;
}

impl<S: LeaseStore> LeaseStore for Arc<S> {
    fn lease(
        &self,
        subject: &LeaseSubject<'_>,
        request: &LeaseRequest,
        now_ms: u64,
    ) -> impl Future<Output = Result<LeaseReply, Self::Error>> + Send {
        S::lease(self, subject, request, now_ms)
    }

    fn close_lease(
        &self,
        subject: &LeaseSubject<'_>,
        close: &LeaseClose,
        now_ms: u64,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        S::close_lease(self, subject, close, now_ms)
    }

    fn decide_prepaid(
        &self,
        call: &ChargeRequest<'_>,
        prepayments: &[Option<Prepayment>],
    ) -> impl Future<Output = Result<Verdict, Self::Error>> + Send {
        S::decide_prepaid(self, call, prepayments)
    }
}
