//! Listeners of the server.

use slidegate::policy::file::Server;

/// Listener of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Listener {
    /// Checks and forward-auth over HTTP.
    Http,
    /// Envoy's rate limit service over gRPC.
    Grpc,
    /// The protocol of Redis.
    Resp,
    /// Operators, over HTTP.
    Admin,
}

impl Listener {
    pub(crate) const ALL: [Self; 4] = [Self::Http, Self::Grpc, Self::Resp, Self::Admin];

    /// Whether these settings have such a listener.
    pub(crate) fn is_in(self, server: &Server) -> bool {
        match self {
            Self::Http => true,
            Self::Grpc => server.grpc.is_some(),
            Self::Resp => server.resp.is_some(),
            Self::Admin => server.admin.is_some(),
        }
    }

    /// Its name in settings, metrics and the log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Grpc => "grpc",
            Self::Resp => "resp",
            Self::Admin => "admin",
        }
    }
}
