//! Services that speak gRPC: one core for each of them in turn, the other for the load.

pub mod cases;
pub mod connections;
pub mod contender;
pub mod frames;
pub mod head;
pub mod messages;
