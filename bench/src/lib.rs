//! Side-by-side measurements of Slidegate and its peers. How to run them, and why they are fair, is
//! in the README.

pub mod adaptive;
pub mod arguments;
pub mod cores;
pub mod counted;
pub mod memory;
pub mod middle;
pub mod ours;
pub mod report;
pub mod steps;
pub mod workload;

#[cfg(feature = "peers")]
pub mod cases;
#[cfg(feature = "peers")]
pub mod contenders;
#[cfg(feature = "grpc")]
pub mod grpc;
#[cfg(feature = "http")]
pub mod hostile;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "layers")]
pub mod layers;
#[cfg(feature = "peers")]
pub mod measure;
#[cfg(feature = "observe")]
pub mod observe;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "replay")]
pub mod replay;
#[cfg(feature = "http")]
pub mod resp;
#[cfg(feature = "rules")]
pub mod rules;
#[cfg(any(feature = "layers", feature = "rules"))]
pub mod turn_times;
