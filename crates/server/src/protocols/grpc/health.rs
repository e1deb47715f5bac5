//! `grpc.health.v1`: health of the server. It needs no token, as balancers have none.

use std::sync::Arc;

use super::status::{Status, StatusCode};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use prost::{Enumeration, Message};
use slidegate::Clock;

use super::connection_state::ConnectionState;
use super::message;
use super::reply::{GrpcOutcome, Outbox, refuse};
use super::routes::{Route, SERVICES};
use crate::net::connections::Order;
use crate::runtime::decider::Decider;

/// `HealthCheckRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(super) struct HealthCheckRequest {
    #[prost(string, tag = "1")]
    pub(super) service: String,
}

/// `HealthCheckResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub(super) struct HealthCheckResponse {
    #[prost(enumeration = "ServingStatus", tag = "1")]
    pub(super) status: i32,
}

/// `HealthCheckResponse.ServingStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(super) enum ServingStatus {
    Unknown = 0,
    Serving = 1,
    NotServing = 2,
    ServiceUnknown = 3,
}

impl ServingStatus {
    /// Status of a service; the empty name stands for all. It is that of the process, since no
    /// service can fail alone.
    fn of<C: Clock>(decider: &Decider<C>, service: &str) -> Self {
        if !service.is_empty() && !SERVICES.contains(&service) {
            Self::ServiceUnknown
        } else if decider.is_ready() {
            Self::Serving
        } else {
            Self::NotServing
        }
    }

    fn frame(self) -> Bytes {
        message::frame(&HealthCheckResponse { status: self as i32 })
    }
}

/// `Check`.
pub(super) async fn check<C: Clock>(connection: Arc<ConnectionState<C>>, body: RecvStream) -> GrpcOutcome {
    let request: HealthCheckRequest =
        message::parse(&message::only(body, &connection, Route::HealthCheck).await?)?;
    match ServingStatus::of(&connection.decider, &request.service) {
        ServingStatus::ServiceUnknown => {
            Err(Status::new(StatusCode::NotFound, format!("unknown service {:?}", request.service)))
        }
        status => Ok(status.frame()),
    }
}

/// `Watch`: the status now, and again whenever it changes.
///
/// It does not prolong its connection: one without other calls ends after the idle time-out, and
/// the client starts another watch.
pub(super) async fn watch<C: Clock>(
    connection: Arc<ConnectionState<C>>,
    body: RecvStream,
    respond: SendResponse<Bytes>,
) {
    let read = message::only(body, &connection, Route::HealthWatch).await.map_err(Status::from);
    let request: HealthCheckRequest = match read.and_then(|message| message::parse(&message)) {
        Ok(request) => request,
        Err(status) => return refuse(respond, &status),
    };
    let Ok(mut outbox) = Outbox::open(respond) else { return };
    let mut last = None;
    loop {
        let now = ServingStatus::of(&connection.decider, &request.service);
        if last != Some(now) {
            if outbox.send(now.frame(), connection.bounds.write).await.is_err() {
                return;
            }
            last = Some(now);
        }
        tokio::select! {
            biased;
            () = outbox.cancelled_by_client() => return,
            () = connection.decider.shutdown_begun(), if connection.decider.is_ready() => {}
            () = connection.ordered(Order::Cut) => return outbox.end(Some(&Status::shutting_down())),
        }
    }
}
