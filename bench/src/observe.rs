//! What it costs to see what is decided: the same with and without an observer, taking turns.

pub mod gates;
pub mod inproc;
pub mod instructions;
pub mod served;
pub mod watchers;
