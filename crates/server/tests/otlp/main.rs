//! What a collector of OpenTelemetry gets to see, decoded with the messages that its authors publish.

#[path = "../grpc/client.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod grpc;
#[path = "../../src/protocols/rls/proto.rs"]
#[allow(dead_code, unreachable_pub, reason = "the messages of the service, which are its own")]
mod proto;
#[path = "../resp/client.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod resp;

mod collector;
mod http;
mod service;
mod spans;

mod numbers;
mod outages;
mod parents;
mod traces;
