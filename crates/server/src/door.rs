//! Which listener a connection came to.

/// Which listener a connection came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Door {
    /// Checks and forward-auth over HTTP.
    Check,
    /// Envoy's rate limit service over gRPC.
    Grpc,
    /// The protocol of Redis.
    Resp,
    /// Operators, over HTTP.
    Admin,
}
