//! Tests of the core: the golden vectors, and properties that hold for any limit, traffic and
//! clock, with generated traces beside a naive oracle.

mod clock;
mod counter;
mod extremes;
mod fixed;
mod gcra;
mod give_back;
mod growth;
mod identity;
mod in_flight;
mod lease;
mod log;
mod memory;
mod multi_limit;
mod narrow;
mod open_permits;
mod oracle;
mod parse;
mod peek;
mod read_only;
mod retry;
mod ring;
mod run;
mod settle;
mod trace;
mod vectors;
mod worst_case;
