//! Runs `vectors/lease.jsonl` against the core.

use std::fs;
use std::path::Path;

use slidegate_core::State;
use slidegate_testkit::leases::{LeaseTrace, answer_of_state};

#[test]
fn every_trace() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/lease.jsonl");
    let text = fs::read_to_string(path).expect("a file of vectors");
    let traces: Vec<LeaseTrace> = text.lines().map(LeaseTrace::parse).collect();
    let wrong: Vec<String> = traces
        .iter()
        .filter_map(|trace| {
            let mut state = State::new(&trace.limit);
            trace.run(|limit, operation, now_ms| answer_of_state(&mut state, limit, operation, now_ms))
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(traces.len() >= 44, "only {} traces are left", traces.len());
}
