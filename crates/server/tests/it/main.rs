//! The service in this process, as its clients see it: one module per protocol.

mod architecture;
mod config;
mod grpc;
mod http;
mod many_subjects;
mod names;
mod otlp;
mod resp;
mod service;
mod tls;
mod top_memory;
