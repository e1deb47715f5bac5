//! Which listener a connection came to.

use slidegate::policy::file::Server;

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

    /// Whether these settings have such a listener.
    pub(crate) fn is_in(self, server: &Server) -> bool {
        match self {
            Self::Check => true,
            Self::Grpc => server.grpc.is_some(),
            Self::Resp => server.resp.is_some(),
            Self::Admin => server.admin.is_some(),
        }
    }

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
