//! Protocols: what a client of each sends, and what it gets.

use std::io::{BufRead, BufReader, Error, Read, Result};
use std::net::{SocketAddr, TcpStream};

use slidegate_testkit::http2::{
    DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, WINDOW_UPDATE, frame, head,
};
use slidegate_testkit::program::{HttpMessage, ServerProcess};

const LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
/// A message with one descriptor with one entry, and the bytes before it.
const MESSAGE: &[u8] = b"\0\0\0\0\x17\n\x01a\x12\x12\n\x10\n\x04user\x12\x08somebody";

/// One protocol, as attackers and others speak it.
#[derive(Clone, Copy)]
pub(crate) struct Protocol {
    pub(crate) name: &'static str,
    pub(crate) address: fn(&ServerProcess) -> SocketAddr,
    /// What a connection begins with.
    pub(crate) greeting: fn() -> Vec<u8>,
    /// A request, the so-manieth of its connection.
    pub(crate) request: fn(u32) -> Vec<u8>,
    /// One whose answer is long, if there is one.
    pub(crate) long_request: fn(u32) -> Vec<u8>,
    /// Reads the answer to a request, which has to be a good one.
    pub(crate) read: fn(&mut BufReader<TcpStream>, u32) -> Result<()>,
    /// The most memory that a connection takes by docs/operating.md.
    pub(crate) connection_kib: u64,
}

/// What a connection over HTTP or the protocol of Redis takes at most.
const CONNECTION_KIB: u64 = 20 + 64 + 2 * 64;
/// And one over gRPC, with all of its calls.
const GRPC_CONNECTION_KIB: u64 = 1 << 10;

pub(crate) const HTTP: Protocol = Protocol {
    name: "HTTP",
    address: ServerProcess::address,
    greeting: Vec::new,
    request: |_| {
        const BODY: &str = r#"{"attributes":{"user":"somebody"}}"#;
        format!("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len())
            .into_bytes()
    },
    long_request: |_| get("/openapi.json"),
    read: read_http,
    connection_kib: CONNECTION_KIB,
};

pub(crate) const LIVEZ: Protocol = Protocol { name: "/livez", request: |_| get("/livez"), ..HTTP };

pub(crate) const ADMIN: Protocol =
    Protocol { name: "admin", address: ServerProcess::admin, request: |_| get("/v1/status"), ..HTTP };

pub(crate) const RESP: Protocol = Protocol {
    name: "RESP",
    address: ServerProcess::resp,
    greeting: Vec::new,
    request: |_| b"*4\r\n$8\r\nSG.CHECK\r\n$1\r\n1\r\n$4\r\nuser\r\n$8\r\nsomebody\r\n".to_vec(),
    long_request: |_| b"COMMAND\r\n".to_vec(),
    read: read_resp,
    connection_kib: CONNECTION_KIB,
};

pub(crate) const GRPC: Protocol = Protocol {
    name: "gRPC",
    address: ServerProcess::grpc,
    greeting: || {
        let room = (1_u32 << 30).to_be_bytes();
        [PREFACE, &frame(SETTINGS, 0, 0, &[]), &frame(WINDOW_UPDATE, 0, 0, &room)].concat()
    },
    request: call,
    long_request: call,
    read: read_grpc,
    connection_kib: GRPC_CONNECTION_KIB,
};

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").into_bytes()
}

fn call(number: u32) -> Vec<u8> {
    let stream = 2 * number + 1;
    [frame(HEADERS, END_HEADERS, stream, &head(LIMIT)), frame(DATA, END_STREAM, stream, MESSAGE)].concat()
}

fn read_http(stream: &mut BufReader<TcpStream>, _: u32) -> Result<()> {
    let answer = HttpMessage::read(stream)?.ok_or_else(|| Error::other("no answer"))?;
    expect(answer.status() == Some(200), &answer.first_line)
}

fn read_resp(stream: &mut BufReader<TcpStream>, _: u32) -> Result<()> {
    let first = line(stream)?;
    expect(first == "*5", &first)?;
    let numbers = (0..5).map(|_| line(stream)).collect::<Result<Vec<_>>>()?;
    expect(numbers[0] == ":1", &format!("{numbers:?}"))
}

/// The answer is in a frame of data, and ends with trailers.
fn read_grpc(stream: &mut BufReader<TcpStream>, number: u32) -> Result<()> {
    let of_call = (2 * number + 1).to_be_bytes();
    let mut message = Vec::new();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let [a, b, c, kind, flags, ids @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload)?;
        if ids != of_call {
            continue;
        }
        if kind == DATA {
            message = payload;
        }
        if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
            // After the prefix, `overall_code: OK`.
            return expect(message.get(5..7) == Some(&[8, 1]), &format!("{message:?}"));
        }
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    expect(stream.read_line(&mut line)? > 0, "the end of the connection")?;
    Ok(line.trim_end().to_owned())
}

fn expect(is_so: bool, what: &str) -> Result<()> {
    if is_so { Ok(()) } else { Err(Error::other(what.to_owned())) }
}
