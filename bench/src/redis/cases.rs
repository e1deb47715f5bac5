//! Cases of a comparison.

pub mod bytes;
pub mod cpu;
pub mod growth;
pub mod library;
pub mod speed;
