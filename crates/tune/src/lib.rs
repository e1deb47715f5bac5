//! Choosing rate limits from real traffic.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | [`access_log`] | access logs of web servers and gateways as requests in the order of their start |

pub mod access_log;
