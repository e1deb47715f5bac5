//! What the calls of one connection have in common.

use std::sync::Arc;

use tokio::sync::watch;

use crate::app::App;
use crate::connections::{Bounds, Order};

/// What the calls of one connection have in common.
pub(super) struct Visit<C> {
    pub(super) app: Arc<App<C>>,
    /// As they were when the connection began.
    pub(super) bounds: Bounds,
    /// Whether the connection is one too many, and only told so.
    pub(super) is_in_lane: bool,
    /// What the connection was told; calls that wait for something look at it.
    told: watch::Sender<Order>,
}

impl<C> Visit<C> {
    pub(super) fn new(app: Arc<App<C>>, bounds: Bounds, is_in_lane: bool) -> Self {
        Self { app, bounds, is_in_lane, told: watch::Sender::new(Order::Go) }
    }

    /// Tells every call that waits. What goes further was told already, and is not taken back.
    pub(super) fn tell(&self, order: Order) {
        self.told.send_if_modified(|told| {
            let goes_further = order > *told;
            *told = order.max(*told);
            goes_further
        });
    }

    /// Completes when the connection was told to do this, or more.
    pub(super) async fn is_told(&self, order: Order) {
        let mut told = self.told.subscribe();
        // It only fails when the visit is over, and the visit is here.
        let _is_so = told.wait_for(|told| *told >= order).await;
    }
}
