//! Completion of a request by the head of its response.

use ::http::{StatusCode, response};

use crate::adaptive::RequestCompletion;
use crate::tower::refusal::GRPC_STATUS;

/// What the head of a response tells about the load of the service, unless
/// [`AdaptiveLayer::completion_with`](super::AdaptiveLayer::completion_with) says otherwise.
///
/// | response | completion |
/// |---|---|
/// | 408, 503, 504; gRPC status 4 or 14 | `Overload`: the service timed out or refused |
/// | other 4xx and 5xx; other gRPC errors | `Ignored`: an early end says nothing of how long work takes |
/// | all else | `Success` |
///
/// A gRPC status counts if it is in the head, as that of a call without messages is.
pub fn completion_of(head: &response::Parts) -> RequestCompletion {
    match head.headers.get(GRPC_STATUS).map(|status| status.as_bytes()) {
        None | Some(b"0") => {}
        Some(b"4" | b"14") => return RequestCompletion::Overload,
        Some(_) => return RequestCompletion::Ignored,
    }
    match head.status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            RequestCompletion::Overload
        }
        status if status.is_client_error() || status.is_server_error() => RequestCompletion::Ignored,
        _ => RequestCompletion::Success,
    }
}
