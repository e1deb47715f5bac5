//! Routes of gRPC calls.

/// Method of a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
    ShouldRateLimit,
    HealthCheck,
    HealthWatch,
    Reflection,
}

/// Names of the services, for health and reflection.
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

    /// Whether a call needs the token: balancers have none, and reflection shows nothing secret.
    pub(super) fn is_guarded(self) -> bool {
        self == Self::ShouldRateLimit
    }
}
