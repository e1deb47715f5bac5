//! Leases: numbers of the store's side, steps of a node, and fleets in which no window is above the
//! quota whatever happens, unless a safety rule is switched off.

mod fleet;
mod node;
mod rules;
mod table;
mod vectors;
