//! What always holds, for any limit, any traffic and any clock: checked over generated traces and a naive oracle.

#[path = "../oracle/mod.rs"]
mod oracle;

mod cases;
mod run;
mod trace;

mod clock;
mod counter;
mod extremes;
mod fixed;
mod gcra;
mod give_back;
mod growth;
mod identity;
mod in_flight;
mod ledger;
mod log;
mod memory;
mod narrow;
mod parse;
mod retry;
mod ring;
mod settle;
mod several;
mod standing;
mod unchanged;
mod worst_case;
