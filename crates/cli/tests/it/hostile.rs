//! Clients that mean no good, in every protocol: they are cut off in their time, take no more
//! memory than they may, and are in nobody's way.
#![cfg(target_os = "linux")]

mod attacks;
mod http_attacks;
mod protocols;
mod well_behaved;

use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;

use crate::load_turn;
use protocols::{ADMIN, GRPC, HTTP, LIVEZ, Protocol, RESP};
use slidegate_testkit::program::{ServerProcess, file, path};
use well_behaved::WellBehaved;

/// How long anything may take that a client sends or takes.
pub(crate) const TIME: Duration = Duration::from_secs(2);
/// Time after which a connection counts as never cut off. It is far above [`TIME`], since a busy
/// machine is no failure.
pub(crate) const OVER: Duration = Duration::from_secs(30);
/// The most memory that the server may have had where nobody sent a body that it takes. The
/// connections of one address alone may take 4096 times 64 KiB.
pub(crate) const WITH_HEADS_KIB: u64 = 400 << 10;
/// The same whatever is done: 4096 times what a connection may take by docs/operating.md, and the
/// program itself.
pub(crate) const WITH_BODIES_KIB: u64 = 4_096 * (20 + 64 + 2 * 64) + (10 << 10);
/// What the most connections need, in the server and here.
const FILES: u64 = 12_000;

fn server() -> ServerProcess {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    assert!(
        maximum.is_none_or(|maximum| maximum >= FILES),
        "this test needs {FILES} open files, and the system allows {maximum:?}: raise it (ulimit -Hn)"
    );
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("up to the maximum is allowed");
    let policy = file(
        "version: 1\nserver:\n  connections: {head_timeout: 2s, body_timeout: 2s, write_timeout: 2s, idle_timeout: 10min}\n\
         rules:\n  - {name: api, key: [user], limits: [1000000000/s]}\n",
    );
    ServerProcess::start(&[path(&policy), "--log", "off", "--grpc", "127.0.0.1:0", "--resp", "127.0.0.1:0"])
}

fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime")
}

/// The most memory that it ever had.
fn most_resident_kib(server: &ServerProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Those who have to be served throughout: one in the protocol that is attacked, and one who asks
/// whether the server lives.
struct Others([(Protocol, WellBehaved); 2]);

impl Others {
    fn begin(server: &ServerProcess, protocol: Protocol) -> Self {
        Self([protocol, LIVEZ].map(|one| (one, WellBehaved::begin(one, (one.address)(server)))))
    }

    fn answers(&self) -> [u64; 2] {
        [self.0[0].1.answers(), self.0[1].1.answers()]
    }

    /// Runs an attack; they have to be answered meanwhile.
    fn during(&self, name: &str, attack: impl FnOnce() -> String) {
        let (before, began) = (self.answers(), Instant::now());
        let saw = attack();
        let took = began.elapsed();
        for (index, (protocol, one)) in self.0.iter().enumerate() {
            let served = one.answers() - before[index];
            println!("{name}: {saw}; {took:.1?}, {served} answers of {}", protocol.name);
            assert!(served > 0, "{name}: nobody else was served by {}", protocol.name);
        }
    }

    fn end(self) {
        for (protocol, one) in self.0 {
            println!("{} answers to others by {}", one.end(), protocol.name);
        }
    }
}

/// All attacks one after the other against one server, with somebody who is served throughout.
fn withstands(protocol: Protocol) {
    let _turn = load_turn();
    let server = server();
    let (address, others, runtime) =
        ((protocol.address)(&server), Others::begin(&server, protocol), runtime());
    let began_kib = most_resident_kib(&server);
    for (name, connections, attack) in attacks::ALL {
        others.during(name, || runtime.block_on(attack(protocol, address)));
        let resident_kib = most_resident_kib(&server);
        let most_kib = began_kib + connections * protocol.connection_kib;
        println!("{name}: {resident_kib} KiB at most, of {most_kib}");
        assert!(resident_kib <= most_kib, "{name}: {resident_kib} KiB of {most_kib}");
    }
    others.end();
    assert_eq!(server.terminate().0, Some(0));
}

#[test]
fn http() {
    withstands(HTTP);
}

#[test]
fn grpc() {
    withstands(GRPC);
}

#[test]
fn resp() {
    withstands(RESP);
}

#[test]
fn admin() {
    withstands(ADMIN);
}

/// As many connections as one address may have, and more, with as much in their requests as they
/// may have.
#[test]
fn http_to_its_bounds() {
    let _turn = load_turn();
    let server = server();
    let (address, others, runtime) = (server.address(), Others::begin(&server, HTTP), runtime());
    for (name, max_kib, attack) in http_attacks::ALL {
        others.during(name, || runtime.block_on(attack(address)));
        let resident_kib = most_resident_kib(&server);
        println!("{name}: {resident_kib} KiB at most, of {max_kib}");
        assert!(resident_kib <= max_kib, "{name}: {resident_kib} KiB");
    }
    others.end();
    assert_eq!(server.terminate().0, Some(0));
}
