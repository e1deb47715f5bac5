//! Connections that keep a server busy.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::answer::{self, Expected};
use super::requests::Requests;

const GROUPS: usize = 4;
const GROUP: usize = 8;
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_BYTES: usize = 16 * 1024;

/// 32 connections with one request in flight on each.
///
/// Connections in groups. While one group is read and written again, the server works on the
/// requests of the others. Within a group the client waits for the last answer first: when it is
/// there, so are most of the others, and the server has woken the client once for eight answers. A
/// wake-up costs the server a good part of a request.
#[derive(Debug)]
pub struct Connections {
    groups: Vec<Vec<TcpStream>>,
    buffer: Vec<u8>,
}

impl Connections {
    /// Opens them.
    pub fn open(address: SocketAddr) -> Self {
        let connect = |_| {
            let stream = TcpStream::connect(address).expect("the server listens");
            stream.set_nodelay(true).expect("a connection takes options");
            stream.set_read_timeout(Some(ANSWER_WITHIN)).expect("a connection takes options");
            stream
        };
        let groups = (0..GROUPS).map(|_| (0..GROUP).map(connect).collect()).collect();
        Self { groups, buffer: vec![0; ANSWER_BYTES] }
    }

    /// Sends at least so many requests and waits for all answers; says how many it were.
    pub fn ask(&mut self, requests: &mut Requests, at_least: usize, mut look: impl FnMut(&[u8])) -> usize {
        let Self { groups, buffer } = self;
        let cycles = at_least.div_ceil(GROUPS * GROUP);
        groups.iter_mut().for_each(|group| write(group, requests));
        for cycle in 1..=cycles {
            for group in &mut *groups {
                group.iter_mut().rev().for_each(|stream| look(read(stream, buffer)));
                if cycle < cycles {
                    write(group, requests);
                }
            }
        }
        cycles * GROUPS * GROUP
    }
}

/// Fails unless an answer is as expected.
pub fn check_status(answer: &[u8], expected: Expected) {
    assert!(answer.starts_with(expected.status.as_bytes()), "unexpected: {}", answer.escape_ascii());
}

fn write(group: &mut [TcpStream], requests: &mut Requests) {
    for stream in group {
        stream.write_all(requests.take()).expect("the server keeps connections");
    }
}

fn read<'a>(stream: &mut TcpStream, buffer: &'a mut [u8]) -> &'a [u8] {
    let mut have = 0;
    loop {
        let more = stream.read(&mut buffer[have..]).expect("the server answers");
        assert!(more > 0, "the server has closed a connection, after: {}", buffer[..have].escape_ascii());
        have += more;
        if let Some(length) = answer::length(&buffer[..have]) {
            assert_eq!(length, have, "one answer to one request");
            return &buffer[..have];
        }
    }
}
