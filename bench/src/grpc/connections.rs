//! Connections that keep a server busy, with many calls on each.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::frames::{
    ACK, DATA, END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS, PING, PREFACE, RESET, SETTINGS, WINDOW_UPDATE,
};
use super::head;
use crate::http::requests::Requests;

const GROUPS: usize = 2;
const GROUP: usize = 4;
/// Calls in flight on each connection.
const STREAMS: usize = 8;
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const BUFFER_BYTES: usize = 64 * 1024;
/// Flow control window of the server.
const WINDOW_BYTES: u32 = 1 << 30;
/// Bytes in front of a message.
const PREFIX_BYTES: usize = 5;

/// 8 connections, as proxies have them, with 8 calls in flight on each.
///
/// Connections in groups. While one group is read and written again, the server works on the calls
/// of the other. Within a group the client waits for the last connection first: when its answers
/// arrive, those of the others are there, and the server has woken the client for at most a quarter
/// of its answers. A wake-up costs the server a good part of a call.
#[derive(Debug)]
pub struct Connections(Vec<Vec<Connection>>);

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    /// The number of the next call. A client's are odd.
    next: u32,
    /// Received bytes that were not read yet, up to `filled`.
    buffer: Vec<u8>,
    filled: usize,
    out: Vec<u8>,
    /// Bytes that came since the server was told that it may send more.
    consumed_bytes: u32,
    head: Vec<u8>,
}

impl Connections {
    /// Opens them.
    pub fn open(address: SocketAddr) -> Self {
        let group = |_| (0..GROUP).map(|_| Connection::open(address)).collect();
        Self((0..GROUPS).map(group).collect())
    }

    /// Makes at least so many calls and waits for all answers; says how many it were. `look` gets
    /// every message.
    pub fn ask(&mut self, requests: &mut Requests, at_least: usize, mut look: impl FnMut(&[u8])) -> usize {
        let calls = GROUPS * GROUP * STREAMS;
        let cycles = at_least.div_ceil(calls);
        self.0.iter_mut().flatten().for_each(|connection| connection.call(requests));
        for cycle in 1..=cycles {
            for group in &mut self.0 {
                group.iter_mut().rev().for_each(|connection| connection.wait(&mut look));
                if cycle < cycles {
                    group.iter_mut().for_each(|connection| connection.call(requests));
                }
            }
        }
        cycles * calls
    }
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a connection takes options");
        stream.set_read_timeout(Some(ANSWER_WITHIN)).expect("a connection takes options");
        let mut out = PREFACE.to_vec();
        Frame { kind: SETTINGS, flags: 0, stream: 0, payload: &[] }.put(&mut out);
        let window = WINDOW_BYTES.to_be_bytes();
        Frame { kind: WINDOW_UPDATE, flags: 0, stream: 0, payload: &window }.put(&mut out);
        let head = head::first(&address.to_string());
        Self { stream, next: 1, buffer: vec![0; BUFFER_BYTES], filled: 0, out, consumed_bytes: 0, head }
    }

    /// Sends as many calls as may be in flight.
    fn call(&mut self, requests: &mut Requests) {
        for _ in 0..STREAMS {
            let stream = self.next;
            Frame { kind: HEADERS, flags: END_HEADERS, stream, payload: &self.head }.put(&mut self.out);
            Frame { kind: DATA, flags: END_STREAM, stream, payload: requests.take() }.put(&mut self.out);
            if stream == 1 {
                self.head = head::next();
            }
            self.next += 2;
        }
        self.send();
    }

    /// Waits for the answers to all calls.
    fn wait(&mut self, look: &mut impl FnMut(&[u8])) {
        let (mut messages, mut ended) = (0, 0);
        while ended < STREAMS {
            let more = self.stream.read(&mut self.buffer[self.filled..]).expect("the server answers");
            assert!(more > 0, "the server has closed a connection");
            self.filled += more;
            self.consumed_bytes += u32::try_from(more).expect("a buffer is short");
            let mut rest = &self.buffer[..self.filled];
            while let Some((frame, after)) = Frame::first(rest) {
                rest = after;
                match frame.kind {
                    DATA if !frame.payload.is_empty() => {
                        messages += 1;
                        look(frame.payload.get(PREFIX_BYTES..).expect("a message in one frame"));
                    }
                    SETTINGS | PING if frame.flags & ACK == 0 => {
                        let payload = if frame.kind == PING { frame.payload } else { &[] };
                        Frame { flags: ACK, payload, ..frame }.put(&mut self.out);
                    }
                    RESET | GOAWAY => panic!("the server gives up: {frame:?}"),
                    _ => {}
                }
                if matches!(frame.kind, DATA | HEADERS) && frame.flags & END_STREAM != 0 {
                    ended += 1;
                }
            }
            let left = rest.len();
            self.buffer.copy_within(self.filled - left..self.filled, 0);
            self.filled = left;
            self.let_send_more();
        }
        // A call that failed has no message.
        assert_eq!((messages, ended), (STREAMS, STREAMS), "one message for each call");
    }

    fn let_send_more(&mut self) {
        if self.consumed_bytes > WINDOW_BYTES / 2 {
            let increment = self.consumed_bytes.to_be_bytes();
            Frame { kind: WINDOW_UPDATE, flags: 0, stream: 0, payload: &increment }.put(&mut self.out);
            self.consumed_bytes = 0;
        }
        if !self.out.is_empty() {
            self.send();
        }
    }

    fn send(&mut self) {
        self.stream.write_all(&self.out).expect("the server keeps connections");
        self.out.clear();
    }
}
