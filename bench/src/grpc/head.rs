//! The heads of the calls on a connection, compressed as by any client: in full once, then by
//! numbers.

use super::messages::PATH;

/// `:method: POST` and `:scheme: http` are in everybody's table.
const FIXED: [u8; 2] = [0x83, 0x86];
/// The number of the entry that a connection's table got last.
const NEWEST: u8 = 62;
/// Headers that go into the table. Envoy sends these.
const MAX_ENTRIES: u8 = 5;

/// The head of the first call on a connection.
pub fn first(authority: &str) -> Vec<u8> {
    let mut head = FIXED.to_vec();
    // Those with a number have a name that is in everybody's table.
    let fields = [(4, PATH), (1, authority), (31, "application/grpc")];
    for (name, value) in fields {
        head.push(0x40 | name);
        put_text(&mut head, value);
    }
    for (name, value) in [("te", "trailers"), ("grpc-timeout", "250m")] {
        head.push(0x40);
        put_text(&mut head, name);
        put_text(&mut head, value);
    }
    head
}

/// The head of every other one.
pub fn next() -> Vec<u8> {
    let indices = (NEWEST..NEWEST + MAX_ENTRIES).rev().map(|number| 0x80 | number);
    FIXED.into_iter().chain(indices).collect()
}

fn put_text(head: &mut Vec<u8>, text: &str) {
    // A length of 127 and more would take a second byte.
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 127).expect("texts are short");
    head.push(length);
    head.extend_from_slice(text.as_bytes());
}
