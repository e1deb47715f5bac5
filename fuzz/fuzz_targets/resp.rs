//! Any bytes as commands of Redis, cut anywhere: the parser sees in them what the naive reader
//! sees, and stays within its bounds.
#![no_main]

#[path = "../../crates/server/src/protocols/resp/inline.rs"]
mod inline;
#[path = "../../crates/server/src/protocols/resp/parser/tests/reference_parser.rs"]
mod reference_parser;
#[allow(dead_code, reason = "the bounds of strangers are only smaller")]
#[path = "../../crates/server/src/protocols/resp/parser.rs"]
mod parser;
#[path = "../../crates/server/src/protocols/resp/parser/tests/comparison.rs"]
mod comparison;

use libfuzzer_sys::fuzz_target;
use parser::{Bounds, AuthState};

const BOUNDS: Bounds =
    Bounds { max_arguments: 8, max_argument_bytes: 64, max_bytes: 256, caller: AuthState::Authenticated };
/// The first bytes say where the others are cut.
const CUTS: usize = 4;

fuzz_target!(|bytes: &[u8]| {
    let Some((cuts, input)) = bytes.split_at_checked(CUTS) else { return };
    let cuts: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut)).collect();
    assert_eq!(comparison::compare(input, &cuts, &BOUNDS), Ok(()));
});
