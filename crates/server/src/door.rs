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

impl Door {
    pub(crate) const ALL: [Self; 4] = [Self::Check, Self::Grpc, Self::Resp, Self::Admin];

    /// Its name in settings, metrics and the log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Check => "http",
            Self::Grpc => "grpc",
            Self::Resp => "resp",
            Self::Admin => "admin",
        }
    }
}
