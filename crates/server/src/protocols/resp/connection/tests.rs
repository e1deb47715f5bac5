//! Connections over pipes in memory: bounded buffers, and the cost of a command.

use std::net::{IpAddr, Ipv4Addr};
use std::task::Waker;
use std::time::Duration;

use tokio::io::{AsyncReadExt, DuplexStream, duplex, split};
use tokio::time::timeout;

use super::*;
use crate::config::listener::Listener;
use crate::net::connections::tests::flood::Between;
use crate::net::connections::{ConnectionSlots, OpenConnections};
use crate::protocols::resp::pipeline::at_once;
use crate::protocols::tests::{self, TestDecider, caller, in_turns};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const MILLION: usize = 1_000_000;

fn decider() -> TestDecider {
    tests::decider(
        "
version: 1
server: { resp: 127.0.0.1:0 }
rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [5/min] }
  - { name: search, match: { path: /search }, key: [user], limits: [{ quota: 9000000, window: 1m, algorithm: counter }, 5/s] }
",
    )
}

/// The other end of a connection whose pipes take next to nothing.
fn connected() -> DuplexStream {
    let (ours, theirs) = duplex(64);
    tokio::spawn(served(decider(), Progress::new(), theirs));
    ours
}

async fn served(
    decider: TestDecider,
    progress: Arc<Progress>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    in_turns(decider, progress, |decider, progress| serve(decider, stream, caller(Listener::Resp), progress))
        .await;
}

/// Time only moves when every task waits.
#[tokio::test(start_paused = true)]
async fn a_million_commands_of_a_client_that_does_not_read_are_not_read_either() {
    let (command, reply) = (&b"*1\r\n$4\r\nPING\r\n"[..], &b"+PONG\r\n"[..]);
    let (mut reading, mut writing) = split(connected());
    let commands = command.repeat(MILLION);
    let mut sent = 0;
    while let Ok(written) = timeout(Duration::from_secs(1), writing.write(&commands[sent..])).await {
        sent += written.expect("an open pipe");
    }
    // The buffers: one read of commands, and 64 KiB of replies and one more.
    let most = (16 << 10) + ((64 << 10) / reply.len() + 1) * command.len() + 1_024;
    assert!(sent <= most, "{sent} bytes were read from a client that does not read, and {most} is the most");

    // As soon as it reads, every command has its reply.
    let rest = tokio::spawn(async move { writing.write_all(&commands[sent..]).await.map(|()| writing) });
    let mut replies = vec![0; MILLION * reply.len()];
    reading.read_exact(&mut replies).await.expect("a million replies");
    assert!(replies.chunks_exact(reply.len()).all(|one| one == reply));
    assert!(rest.await.expect("no panic").is_ok());
}

/// A command whose reply is a hundred times as long.
#[tokio::test(start_paused = true)]
async fn long_replies_are_bounded_too() {
    let (_reading, mut writing) = split(connected());
    let commands = b"COMMAND\r\n".repeat(MILLION);
    let mut sent = 0;
    while let Ok(written) = timeout(Duration::from_secs(1), writing.write(&commands[sent..])).await {
        sent += written.expect("an open pipe");
    }
    assert!(sent <= (16 << 10) + 1_024, "{sent} bytes were read from a client that does not read");
}

/// Memory of an idle connection.
#[tokio::test(start_paused = true)]
async fn a_silent_connection_keeps_little() {
    let (mut ours, mut theirs) = duplex(1 << 20);
    let (decider, mut buffers, progress) = (decider(), ConnectionBuffers::new(LOCAL), Progress::new());
    ours.write_all(&b"*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n".repeat(10_000)).await.expect("an open pipe");
    let read = poll_fn(|context| {
        loop {
            match buffers.poll_read(&mut theirs, context) {
                Poll::Ready(read) => drop(read.expect("an open pipe")),
                Poll::Pending => return Poll::Ready(buffers.input.len()),
            }
        }
    });
    assert!(read.await > 100_000);
    while buffers.answer(&decider, &progress).await.then == NextStep::Write {
        buffers.out.clear();
    }
    buffers.out.clear();
    assert!(poll_fn(|context| Poll::Ready(buffers.poll_read(&mut theirs, context).is_pending())).await);
    assert!(buffers.input.capacity() <= 4_096 && buffers.out.capacity() <= 4_096);
}

/// The frequent commands allocate nothing once their subjects exist.
#[test]
fn no_allocation_per_command() {
    let commands: [&[u8]; 5] = [
        b"*6\r\n$8\r\nSG.CHECK\r\n$1\r\n1\r\n$4\r\npath\r\n$6\r\n/login\r\n$2\r\nip\r\n$9\r\n192.0.2.1\r\n",
        b"*6\r\n$8\r\nSG.CHECK\r\n$1\r\n1\r\n$4\r\npath\r\n$7\r\n/search\r\n$4\r\nuser\r\n$5\r\nalice\r\n",
        b"*4\r\n$8\r\nSG.LIMIT\r\n$5\r\nalice\r\n$3\r\n100\r\n$5\r\n60000\r\n",
        b"*5\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser123\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n",
        b"*1\r\n$4\r\nPING\r\n",
    ];
    let (decider, progress) = (decider(), Progress::new());
    for command in commands {
        let pipeline = command.repeat(16);
        let mut buffers = ConnectionBuffers::new(LOCAL);
        let mut round = || {
            buffers.input.extend_from_slice(&pipeline);
            let round = at_once(buffers.answer(&decider, &progress));
            assert_eq!((round.commands, round.then), (16, NextStep::Read));
            buffers.out.clear();
        };
        (0..20).for_each(|_| round());
        let allocations = allocation_counter::measure(|| (0..10).for_each(|_| round()));
        assert_eq!(allocations.count_total, 0, "{}", String::from_utf8_lossy(command));
    }
}

/// Clients that send faster than they are answered leave the worker to others after a share of
/// work.
#[tokio::test]
async fn a_flood_is_answered_in_turns() {
    let decider = decider();
    let serve = |stream| served(Arc::clone(&decider), Progress::new(), stream);
    Between::measure(7, || || b"PING\r\n".to_vec(), serve).await.is_bounded(1);
}

/// What has come by then is answered, and one command that has begun. A client that goes on sending
/// does not stay for that.
#[tokio::test(start_paused = true)]
async fn a_connection_with_an_order_to_end_does_not_serve_on() {
    // The one fits into reads as it is, the other does not.
    for (command, reply) in
        [("PING abcdefghi\r\n", "$9\r\nabcdefghi\r\n"), ("*1\r\n$4\r\nPING\r\n", "+PONG\r\n")]
    {
        let (decider, progress) = (decider(), Progress::new());
        let (connections, slots) = (Arc::<OpenConnections>::default(), Arc::<ConnectionSlots>::default());
        let slot = slots
            .regular(&decider.settings().connections, decider.network().capacity(Listener::Resp), LOCAL)
            .expect("a slot");
        let _member = connections.join(Arc::clone(&progress), Waker::noop().clone(), &slot);
        let (mut ours, theirs) = duplex(4 << 20);
        ours.write_all(command.repeat(100_000).as_bytes()).await.expect("an open pipe");
        connections.order_all(Order::Cut);
        tokio::spawn(served(decider, progress, theirs));
        let mut replies = Vec::new();
        // Whether it ends in good order does not matter here.
        let _end = timeout(Duration::from_secs(60), ours.read_to_end(&mut replies)).await;
        let answered = replies.len() / reply.len();
        assert!((1..20_000).contains(&answered), "{answered} of 100000 {command:?} were answered");
    }
}
