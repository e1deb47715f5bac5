//! Routes of gRPC calls.

/// A method of a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
    ShouldRateLimit,
    HealthCheck,
    HealthWatch,
    Reflection,
}

/// The services that there are, as health and reflection name them.
pub(super) const SERVICES: [&str; 4] = [
    "envoy.service.ratelimit.v3.RateLimitService",
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

impl Route {
    pub(super) fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" => Self::ShouldRateLimit,
            "/grpc.health.v1.Health/Check" => Self::HealthCheck,
            "/grpc.health.v1.Health/Watch" => Self::HealthWatch,
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
            | "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" => Self::Reflection,
            _ => return None,
        })
    }

    /// Whether the token is asked for: balancers have none, and what this is can be read by anybody.
    pub(super) fn is_guarded(self) -> bool {
        self == Self::ShouldRateLimit
    }
}
