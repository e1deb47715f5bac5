//! Tests of the client: the golden vectors of advice, the budget, a herd of clients, and the hooks
//! in virtual time.

mod advice;
mod budget;
mod herd;
mod vectors;

#[cfg(feature = "check")]
mod check;
#[cfg(feature = "tokio")]
mod environment;
#[cfg(feature = "reqwest")]
mod reqwest;
#[cfg(feature = "tokio")]
mod retry;
#[cfg(feature = "tower")]
mod tower;
