//! A policy over a store in memory.

mod check;
mod numbers;
mod sync;
mod wait_queue;
