//! Decisions of Slidegate, as pure functions of a state, a limit and a time.
//!
//! Nothing here reads a clock, does I/O or uses a floating point number. [`decide`] takes the
//! states of all the limits that one request touches and the time, and admits the request
//! everywhere or nowhere.
//!
//! ```
//! use slidegate_core::{LimitAttempt, Limit, State, decide};
//!
//! let limit: Limit = "2/min".parse()?;
//! let mut state = State::new(&limit);
//! let mut check = |now_ms| {
//!     let attempt = LimitAttempt { limit: &limit, cost: 1, holder: 0, state: &mut state };
//!     decide(&mut [attempt], now_ms)
//! };
//! assert!(check(0).is_allowed());
//! assert!(check(1_000).is_allowed());
//! let refused = check(2_000);
//! assert!(!refused.is_allowed());
//! assert_eq!(refused.retry_after_ms(), Some(58_000)); // when the first of the two leaves the window
//! # Ok::<(), slidegate_core::LimitError>(())
//! ```
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `limit` | [`Limit`]: a quota per window with an algorithm; its id, its parser, its errors and its worst case |
//! | `algorithms` | one state per algorithm: `log`, `counter`, `fixed`, `gcra`, `in_flight` |
//! | `history`, `state` | [`History`]: what every algorithm implements; [`State`]: any of them |
//! | `decide` | several limits, all or nothing |
//! | `lease` | parts of a log's quota that nodes hold: [`LeaseLog`] at the store, [`LeaseNode`] at a node |
//! | `settle`, `open_permits`, `give_back` | receipts and settlements; open permits of a subject; units given back without a permit |
//! | `verdict`, `summary` | answers: of one limit, of a request, and the one set of numbers that protocols report |
//! | `time` | the rule for a clock that steps |
#![no_std]

extern crate alloc;

mod algorithms;
mod decide;
mod give_back;
mod history;
mod lease;
mod limit;
mod open_permits;
mod settle;
mod state;
mod summary;
mod time;
mod verdict;

pub use algorithms::counter::{Counter, FastView};
pub use algorithms::fixed::Fixed;
pub use algorithms::gcra::Gcra;
pub use algorithms::in_flight::{Holder, InFlight};
pub use algorithms::log::{Log, LogEntry, LogHead, NarrowLog, Ring};
pub use decide::{LimitAttempt, decide, decide_pair, evaluate};
pub use give_back::{give_back, give_back_one};
pub use history::{Attempt, History, Standing, decide_one, evaluate_one};
pub use lease::{
    LeaseClose, LeaseDecision, LeaseGrant, LeaseLog, LeaseNode, LeasePhase, LeaseReply, LeaseRequest,
    LeaseRow, LeaseStep, LeaseUse, MAX_LEASE_ROWS, MAX_LEASE_USES, NodeTime, Prepayment, decide_prepaid,
};
pub use limit::error::LimitError;
pub use limit::id::LimitId;
pub use limit::parse::{parse_count, parse_window, window_units};
pub use limit::{Limit, LimitKind, MAX_ENTRIES, MAX_QUOTA, MAX_WINDOW_MS, Resolution};
pub use open_permits::{Grant, MAX_OPEN_PERMITS, MAX_PERMIT_BYTES, OpenPermits, PermitState};
pub use settle::{Receipt, SettleEffect};
pub use state::State;
pub use summary::{Summary, Wait};
pub use time::MAX_TIME_MS;
pub use verdict::{Decision, Decisions, Outcome, Source, Verdict};
