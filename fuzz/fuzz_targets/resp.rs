//! Any bytes as commands of Redis, cut anywhere: the parser sees in them what the naive reader sees, and stays within its bounds.
#![no_main]

#[path = "../../crates/server/src/resp/inline.rs"]
mod inline;
#[path = "../../crates/server/src/resp/naive.rs"]
mod naive;
#[allow(dead_code, reason = "the bounds of strangers are only smaller")]
#[path = "../../crates/server/src/resp/parser.rs"]
mod parser;
#[path = "../../crates/server/src/resp/seen.rs"]
mod seen;

use libfuzzer_sys::fuzz_target;
use parser::{Bounds, Known};
use seen::Seen;

const BOUNDS: Bounds =
    Bounds { max_arguments: 8, max_argument_bytes: 64, max_bytes: 256, caller: Known::Yes };
/// The first bytes say where the others are cut.
const CUTS: usize = 4;

fuzz_target!(|bytes: &[u8]| {
    let Some((cuts, input)) = bytes.split_at_checked(CUTS) else { return };
    let expected = naive::read(input, &BOUNDS);
    // What is kept until it comes to its end has a bound, and so has what does.
    assert!(expected.rest <= BOUNDS.max_bytes && expected.commands.iter().all(within_bounds));
    let cut = Seen::in_pieces(input, cuts.iter().map(|cut| usize::from(*cut)), &BOUNDS);
    let bytewise = Seen::in_pieces(input, std::iter::repeat_n(1, input.len()), &BOUNDS);
    assert_eq!(cut, expected);
    assert_eq!(bytewise, expected);
});

fn within_bounds(command: &Vec<Vec<u8>>) -> bool {
    command.len() <= BOUNDS.max_arguments && command.iter().all(|argument| argument.len() <= BOUNDS.max_bytes)
}
