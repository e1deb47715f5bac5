//! A Cluster in trouble while requests come: slots that move, a primary that dies, and one that does not answer for a while.
#![cfg(all(feature = "redis", not(shuttle)))]

mod servers;
mod spread;

#[path = "redis_cluster_trouble/dead.rs"]
mod dead;
#[path = "redis_cluster_trouble/load.rs"]
mod load;
#[path = "redis_cluster_trouble/moving.rs"]
mod moving;
#[path = "redis_cluster_trouble/silent.rs"]
mod silent;
