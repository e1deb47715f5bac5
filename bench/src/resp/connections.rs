//! Connections that keep a server busy.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::commands::Commands;
use super::replies::{Expected, Reader};

const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const REPLY_BYTES: usize = 16 * 1024;

/// Number of connections, and of commands in flight on each.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Connections are served in groups. While one group is read and written again, the server has
    /// the commands of the others to work on.
    pub groups: usize,
    /// Connections of a group. Its last replies are waited for first: when they are there, so are
    /// most of the others, and the server has woken us up once for all of them. Waking somebody up
    /// is as much work for it as several commands.
    pub group: usize,
    /// Commands in flight on a connection.
    pub depth: usize,
}

impl Load {
    /// Pipelines of 16 on each of 48 connections.
    pub const PIPELINED: Self = Self { groups: 4, group: 12, depth: 16 };
    /// One command at a time on each of 32 connections.
    pub const ONE_BY_ONE: Self = Self { groups: 4, group: 8, depth: 1 };

    /// Commands that are in flight.
    fn commands(&self) -> usize {
        self.groups * self.group * self.depth
    }
}

/// Open connections.
#[derive(Debug)]
pub struct Connections {
    load: Load,
    groups: Vec<Vec<TcpStream>>,
    buffer: Vec<u8>,
}

impl Connections {
    /// Opens them.
    pub fn open(address: SocketAddr, load: Load) -> Self {
        let connect = |_| {
            let stream = TcpStream::connect(address).expect("the server listens");
            stream.set_nodelay(true).expect("a connection takes options");
            stream.set_read_timeout(Some(ANSWER_WITHIN)).expect("a connection takes options");
            stream
        };
        let groups = (0..load.groups).map(|_| (0..load.group).map(connect).collect()).collect();
        Self { load, groups, buffer: vec![0; REPLY_BYTES] }
    }

    /// Sends at least so many commands and waits for all replies; says how many it were.
    pub fn ask(&mut self, commands: &mut Commands, expected: Expected, at_least: usize) -> usize {
        let Self { load, groups, buffer } = self;
        let cycles = at_least.div_ceil(load.commands());
        groups.iter_mut().for_each(|group| write(group, commands));
        for cycle in 1..=cycles {
            for group in &mut *groups {
                group
                    .iter_mut()
                    .rev()
                    .for_each(|stream| read(stream, Reader::new(expected, load.depth), buffer));
                if cycle < cycles {
                    write(group, commands);
                }
            }
        }
        cycles * load.commands()
    }
}

fn write(group: &mut [TcpStream], commands: &mut Commands) {
    for stream in group {
        stream.write_all(commands.take()).expect("the server keeps connections");
    }
}

fn read(stream: &mut TcpStream, mut reader: Reader, buffer: &mut [u8]) {
    let mut have = 0;
    loop {
        let more = stream.read(&mut buffer[have..]).expect("the server answers");
        assert!(more > 0, "the server has closed a connection, after: {}", buffer[..have].escape_ascii());
        have += more;
        if reader.look(&buffer[..have]) {
            return;
        }
    }
}
