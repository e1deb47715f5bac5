//! Protocols: what a client of each sends, and how long an answer is.

use crate::http::answer;

/// Protocol of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Name in the report.
    pub name: &'static str,
    /// First bytes of a connection.
    pub greeting: fn() -> Vec<u8>,
    /// A request, the so-manieth of its connection.
    pub request: fn(u32) -> Vec<u8>,
    /// Request with a long answer, if there is one.
    pub long_request: fn(u32) -> Vec<u8>,
    /// End of the answer to a request, if it has arrived; it has to be an admission.
    pub answered: fn(&[u8], u32) -> Option<usize>,
    /// Requests of a flood each second, on one connection.
    pub flood: u32,
}

/// All measured protocols.
pub const PROTOCOLS: [Protocol; 4] = [HTTP, GRPC, RESP, ADMIN];

const HTTP: Protocol = Protocol {
    name: "http",
    greeting: Vec::new,
    request: |_| http_check(0),
    long_request: |_| get("/openapi.json"),
    answered: http_answered,
    flood: 100,
};

const ADMIN: Protocol = Protocol { name: "admin", request: |_| get("/v1/status"), flood: 10, ..HTTP };

const RESP: Protocol = Protocol {
    name: "resp",
    greeting: Vec::new,
    request: |_| b"*4\r\n$8\r\nSG.CHECK\r\n$1\r\n1\r\n$4\r\nuser\r\n$12\r\nwell-behaved\r\n".to_vec(),
    long_request: |_| b"COMMAND\r\n".to_vec(),
    answered: resp_answered,
    flood: 100,
};

const GRPC: Protocol = Protocol {
    name: "grpc",
    greeting: || {
        let room = (1_u32 << 30).to_be_bytes();
        [PREFACE, &frame(SETTINGS, 0, 0, &[]), &frame(WINDOW_UPDATE, 0, 0, &room)].concat()
    },
    request: call,
    long_request: call,
    answered: grpc_answered,
    flood: 100,
};

/// A check whose body has at least so many bytes.
pub(super) fn http_check(body_bytes: usize) -> Vec<u8> {
    let body = format!("{:<body_bytes$}", r#"{"attributes":{"user":"well-behaved"}}"#);
    let head = format!("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len());
    [head, body].concat().into_bytes()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").into_bytes()
}

fn http_answered(bytes: &[u8], _: u32) -> Option<usize> {
    let length = answer::length(bytes)?;
    assert!(bytes.starts_with(b"HTTP/1.1 200 "), "{}", bytes[..length].escape_ascii());
    Some(length)
}

/// Five numbers after a line that says so.
fn resp_answered(bytes: &[u8], _: u32) -> Option<usize> {
    let (last, _) = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(5)?;
    assert!(bytes.starts_with(b"*5\r\n:1\r\n"), "{}", bytes.escape_ascii());
    Some(last + 1)
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const FRAME_HEAD_BYTES: usize = 9;
/// Message with one descriptor with one entry, after its prefix.
const MESSAGE: &[u8] = b"\0\0\0\0\x1b\n\x01a\x12\x16\n\x14\n\x04user\x12\x0cwell-behaved";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).expect("a frame is short").to_be_bytes();
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn call(number: u32) -> Vec<u8> {
    const FIELDS: [(&str, &str); 6] = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"),
        (":authority", "a"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    // Fields that no table keeps: a zero, and two texts that are shorter than 127 bytes.
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let head: Vec<u8> =
        FIELDS.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect();
    let stream = 2 * number + 1;
    [frame(HEADERS, END_HEADERS, stream, &head), frame(DATA, END_STREAM, stream, MESSAGE)].concat()
}

/// Frames up to the one that ends the call.
fn grpc_answered(bytes: &[u8], number: u32) -> Option<usize> {
    let stream = (2 * number + 1).to_be_bytes();
    let (mut at, mut is_ok) = (0, false);
    loop {
        let [a, b, c, kind, flags, of @ ..] = *bytes.get(at..)?.first_chunk::<FRAME_HEAD_BYTES>()?;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let payload = bytes.get(at + FRAME_HEAD_BYTES..at + FRAME_HEAD_BYTES + length)?;
        at += FRAME_HEAD_BYTES + length;
        // After its prefix a message says `overall_code: OK`.
        is_ok |= kind == DATA && payload.get(5..7) == Some(&[8, 1]);
        if of == stream && flags & END_STREAM != 0 {
            assert!(is_ok, "{}", bytes[..at].escape_ascii());
            return Some(at);
        }
    }
}
