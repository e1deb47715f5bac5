//! The rules of a policy file: their errors, and what they give a request.

mod construct;
mod diff;
mod explain;
mod explain_request;
mod keys;
mod matching;
mod modes;
mod paths;
mod semantics;
mod temporary_override;
