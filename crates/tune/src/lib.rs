//! Choosing rate limits from real traffic.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | [`access_log`] | access logs of web servers and gateways as requests in the order of their start |
//! | [`replay`] | what a policy would have done with them |
//! | [`html`], [`chart`] | reports as HTML files, charts as SVG |
//! | [`peak`] | the most that a subject had counted in a window |
//! | [`suggest`] | limits that touch few subjects, for every route |
//! | [`simulate`] | algorithms and clients under traffic that shows their differences |
//! | [`policy_test`] | unit tests of a policy |
//! | [`numbers`], [`printable`] | numbers and times as text; text from outside, made safe |

pub mod access_log;
pub mod chart;
pub mod html;
pub mod numbers;
pub mod peak;
pub mod policy_test;
pub mod printable;
pub mod replay;
pub mod simulate;
pub mod suggest;
