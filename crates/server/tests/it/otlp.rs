//! What a collector of OpenTelemetry gets to see, decoded with the messages that its authors
//! publish.

mod collector;
mod http;
mod service;
mod spans;

mod numbers;
mod outages;
mod parents;
mod traces;
