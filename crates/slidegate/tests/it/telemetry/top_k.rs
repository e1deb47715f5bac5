//! Top-k lists of subjects.

mod common;
mod counts;
mod epochs;
mod labels;
