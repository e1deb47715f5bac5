//! A Cluster in trouble while requests come: slots that move, a primary that dies, and one that
//! does not answer for a while.

mod failover;
mod load;
mod migration;
mod stall;
