//! The policy file: its errors, its schema, and the rules that it gives a request.

mod diagnostics;
mod diff;
mod explain;
mod keys;
mod matching;
mod modes;
mod paths;
mod schema;
mod semantics;
mod temporary_override;
