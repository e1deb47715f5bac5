//! Connections of a proxy, with a thread for each direction.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::AfterDrop;

/// Treatment of replies.
#[derive(Clone, Copy)]
pub(super) enum ReplyFault {
    Pass,
    Drop(AfterDrop),
    BreakOff,
    Delay(Duration),
}

/// State that all connections share.
pub(super) struct Link {
    server_port: u16,
    treatment: Mutex<ReplyFault>,
    /// Both ends of every connection, by its number.
    open: Mutex<BTreeMap<u64, [TcpStream; 2]>>,
    pub(super) refusing: AtomicBool,
    pub(super) connections: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) replies: AtomicU64,
    pub(super) delivered: AtomicU64,
}

impl Link {
    pub(super) fn to(server_port: u16) -> Self {
        Self {
            server_port,
            treatment: Mutex::new(ReplyFault::Pass),
            open: Mutex::default(),
            refusing: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            replies: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
        }
    }

    pub(super) fn treat(&self, replies: ReplyFault) {
        *self.treatment.lock() = replies;
    }

    pub(super) fn cut(&self) {
        for ends in self.open.lock().values() {
            close(ends);
        }
    }

    /// Accepts connections until the proxy refuses them; then the listener is closed.
    pub(super) fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming().flatten() {
            if self.refusing.load(Ordering::SeqCst) {
                return;
            }
            // If the server is down, the client finds its connection closed.
            drop(self.join(client));
        }
    }

    fn join(self: &Arc<Self>, client: TcpStream) -> io::Result<()> {
        let number = self.connections.fetch_add(1, Ordering::SeqCst);
        let server = TcpStream::connect(("127.0.0.1", self.server_port))?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        self.open.lock().insert(number, [client.try_clone()?, server.try_clone()?]);
        let (link, ends) = (Arc::clone(self), [client.try_clone()?, server.try_clone()?]);
        thread::spawn(move || {
            // An error here is a connection that ended, which is what the next line is for.
            drop(link.pump_requests(&ends));
            close(&ends);
        });
        let (link, ends) = (Arc::clone(self), [client, server]);
        thread::spawn(move || {
            drop(link.pump_replies(&ends));
            close(&ends);
            link.open.lock().remove(&number);
        });
        Ok(())
    }

    fn pump_requests(&self, [client, server]: &[TcpStream; 2]) -> io::Result<()> {
        let mut buffer = [0; 16_384];
        loop {
            let piece = read(client, &mut buffer)?;
            self.requests.fetch_add(piece.len() as u64, Ordering::SeqCst);
            write(server, piece)?;
        }
    }

    /// Passes replies on. A client that lost a reply must not get the next one in its place, so
    /// that a connection that hangs hangs for good.
    fn pump_replies(&self, [client, server]: &[TcpStream; 2]) -> io::Result<()> {
        let (mut buffer, mut hangs) = ([0; 16_384], false);
        loop {
            let piece = read(server, &mut buffer)?;
            self.replies.fetch_add(piece.len() as u64, Ordering::SeqCst);
            let treatment = *self.treatment.lock();
            match treatment {
                ReplyFault::Drop(AfterDrop::Close) => return Ok(()),
                ReplyFault::Drop(AfterDrop::Hang) => hangs = true,
                ReplyFault::BreakOff if !hangs => {
                    hangs = true;
                    self.delivered.fetch_add(1, Ordering::SeqCst);
                    write(client, &piece[..1])?;
                }
                ReplyFault::BreakOff => {}
                ReplyFault::Delay(delay) => thread::sleep(delay),
                ReplyFault::Pass => {}
            }
            if !hangs {
                // Counted first: who has the reply finds it counted.
                self.delivered.fetch_add(piece.len() as u64, Ordering::SeqCst);
                write(client, piece)?;
            }
        }
    }
}

fn read<'a>(mut stream: &TcpStream, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    match stream.read(buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => Ok(&buffer[..length]),
    }
}

fn write(mut stream: &TcpStream, piece: &[u8]) -> io::Result<()> {
    stream.write_all(piece)
}

/// Closes both ends; those that are closed already stay closed.
fn close(ends: &[TcpStream; 2]) {
    for end in ends {
        let _ = end.shutdown(Shutdown::Both);
    }
}
