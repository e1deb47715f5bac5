//! What is compared, case by case.

pub mod bytes;
pub mod cpu;
pub mod growth;
pub mod library;
pub mod speed;
