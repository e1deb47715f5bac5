//! State that the calls of one connection share.

use std::sync::Arc;

use slidegate::Clock;
use tokio::sync::watch;

use super::routes::Route;
use crate::config::connection_limits::ConnectionLimits;
use crate::net::byte_budget::{ByteBudget, ByteReservation};
use crate::net::connections::Order;
use crate::net::serve::Caller;
use crate::runtime::decider::Decider;

/// Maximum length of a message of a call that needs no token: a name, or a query about one.
const MAX_OPEN_MESSAGE_BYTES: usize = 4 << 10;

/// Budget of the messages of a call.
pub(super) struct MessageBudget<'v> {
    /// Maximum length of a message.
    pub(super) max_bytes: usize,
    /// Budget of the connection.
    unfinished: &'v ByteBudget,
    /// Budget of all connections.
    shared: Option<&'v ByteBudget>,
}

impl<'v> MessageBudget<'v> {
    /// Reservation of a call, which is empty yet.
    pub(super) fn part(&self) -> ByteReservation<'v> {
        self.unfinished.part(self.shared)
    }
}

/// State that the calls of one connection share.
pub(super) struct ConnectionState<C> {
    pub(super) decider: Arc<Decider<C>>,
    /// Limits at the start of the connection.
    pub(super) bounds: ConnectionLimits,
    pub(super) caller: Caller,
    /// Budgets of incomplete calls: those that need a token, and those that need none.
    guarded: ByteBudget,
    open: ByteBudget,
    /// Order of the connection, for the calls that wait.
    order: watch::Sender<Order>,
}

impl<C: Clock> ConnectionState<C> {
    pub(super) fn new(decider: Arc<Decider<C>>, bounds: ConnectionLimits, caller: Caller) -> Self {
        let (guarded, open) = (ByteBudget::of_one(), ByteBudget::of_open_calls());
        Self { decider, bounds, caller, guarded, open, order: watch::Sender::new(Order::Go) }
    }

    /// Budget of the messages of a call.
    pub(super) fn budget(&self, route: Route) -> MessageBudget<'_> {
        let max_bytes = self.bounds.max_body_bytes;
        match route.is_guarded() {
            true => MessageBudget {
                max_bytes,
                unfinished: &self.guarded,
                shared: Some(&self.decider.network().incomplete_calls),
            },
            false => MessageBudget {
                max_bytes: max_bytes.min(MAX_OPEN_MESSAGE_BYTES),
                unfinished: &self.open,
                shared: None,
            },
        }
    }

    /// Passes an order on to every call that waits. An order is never withdrawn.
    pub(super) fn order(&self, order: Order) {
        self.order.send_if_modified(|current| {
            let goes_further = order > *current;
            *current = order.max(*current);
            goes_further
        });
    }

    /// Completes when the connection has this order, or one that goes further.
    pub(super) async fn ordered(&self, order: Order) {
        let mut current = self.order.subscribe();
        // It fails only after the connection, which is still here.
        let _is_so = current.wait_for(|current| *current >= order).await;
    }
}
