//! Choosing rate limits from real traffic.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | [`access_log`] | access logs of web servers and gateways as requests in the order of their start |
//! | [`replay`] | what a policy would have done with them |

pub mod access_log;
pub mod replay;
