//! Any bytes as commands of Redis, split anywhere: the parser returns what the reference parser
//! returns, and stays within its bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use slidegate_server::compare_parsers;

/// Number of first bytes that say where the others are split.
const CUTS: usize = 4;

fuzz_target!(|bytes: &[u8]| {
    let Some((cuts, input)) = bytes.split_at_checked(CUTS) else { return };
    let cuts: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut)).collect();
    assert_eq!(compare_parsers(input, &cuts), Ok(()));
});
