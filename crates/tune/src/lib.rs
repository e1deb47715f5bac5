//! Choosing rate limits from real traffic.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | [`access_log`] | access logs of web servers and gateways as requests in the order of their start |
//! | [`replay`] | what a policy would have done with them |
//! | [`peak`] | the most that a subject had counted in a window |
//! | [`suggest`] | limits that touch few subjects, for every route |
//! | [`simulate`] | algorithms and clients under traffic that shows their differences |

pub mod access_log;
pub mod peak;
pub mod replay;
pub mod simulate;
pub mod suggest;
