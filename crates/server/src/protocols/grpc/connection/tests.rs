//! Connections whose clients always have sent more.

use super::*;
use crate::net::connections::tests::flood::{Between, Flood};
use crate::protocols::tests::{caller, decider, in_turns};

/// HEADERS that say 415.
const ANSWER_BYTES: usize = 21;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// `:method: POST`, `:scheme: http`, `:path: /`; and a name and a value that are in no table.
const HEAD: &[u8] = &[0x83, 0x86, 0x84, 0, 1, b'x', PADDING_BYTES];
const PADDING_BYTES: u8 = 120;
/// HEADERS of this length with END_STREAM and END_HEADERS.
const CALL: [u8; 5] = [0, 0, HEAD.len() as u8 + PADDING_BYTES, 1, 5];

/// Calls without an end.
fn calls() -> impl FnMut() -> Vec<u8> + Unpin {
    let mut stream = 1_u32;
    move || {
        let greeting = if stream == 1 { [PREFACE, SETTINGS].concat() } else { Vec::new() };
        let call = [&CALL[..], &stream.to_be_bytes(), HEAD, &[b'x'; PADDING_BYTES as usize]].concat();
        stream += 2;
        [greeting, call].concat()
    }
}

/// Calls leave the worker to others after a share of work.
#[tokio::test]
async fn a_flood_is_answered_in_turns() {
    let decider = decider(
        "version: 1\nserver: { grpc: 127.0.0.1:0 }\nrules: [{ name: each, key: [ip], limits: [5/min] }]",
    );
    let serve = |stream: Flood<_>| {
        in_turns(Arc::clone(&decider), Progress::new(), |decider, progress| {
            serve(decider, stream, caller(Listener::Grpc), progress)
        })
    };
    Between::measure(ANSWER_BYTES, calls, serve).await.is_bounded(cost::CALL);
}
