//! Clients that mean no good: they are cut off in their time, take no more memory than they may, and are in nobody's way.
#![cfg(target_os = "linux")]

#[path = "../program/mod.rs"]
mod program;

mod attacks;
mod well_behaved;

use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use program::{Server, file, path};
use well_behaved::WellBehaved;

/// How long anything may take that a client sends or takes.
pub(crate) const TIME: Duration = Duration::from_secs(2);
/// By then it has to be over: five times that.
pub(crate) const OVER: Duration = Duration::from_secs(10);
/// The most memory that the server may have had where nobody sent a body that it takes. The connections of one address alone may take 4096 times 64 KiB.
pub(crate) const WITH_HEADS_KIB: u64 = 400 << 10;
/// The same whatever is done: 4096 times what a connection may take by docs/operating.md, and the program itself.
pub(crate) const WITH_BODIES_KIB: u64 = 4_096 * (20 + 64 + 2 * 64) + (10 << 10);
/// What the most connections need, in the server and here.
const FILES: u64 = 12_000;

fn server() -> Server {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    assert!(
        maximum.is_none_or(|maximum| maximum >= FILES),
        "this test needs {FILES} open files, and the system allows {maximum:?}: raise it (ulimit -Hn)"
    );
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("up to the maximum is allowed");
    let policy = file(
        "version: 1\nserver:\n  connections: {head_timeout: 2s, body_timeout: 2s, write_timeout: 2s, idle_timeout: 2s}\n\
         rules:\n  - {name: api, key: [user], limits: [1000000/s]}\n",
    );
    Server::start(&[path(&policy), "--log", "off"])
}

/// The most memory that it ever had.
fn most_resident_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// All of them one after the other against one server, with somebody who is served throughout.
#[test]
fn they_are_cut_off_and_others_are_served() {
    let server = server();
    let address = server.address();
    let others = WellBehaved::begin(address);
    let began_kib = most_resident_kib(&server);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    for (name, max_kib, attack) in attacks::ALL {
        let (before, began) = (others.answers(), Instant::now());
        let saw = runtime.block_on(attack(address));
        let served = others.answers() - before;
        let resident_kib = most_resident_kib(&server);
        println!(
            "{name}: {saw}; {:.1?}, others got {served} answers, {resident_kib} KiB at most",
            began.elapsed()
        );
        assert!(served > 0, "{name}: nobody else was served");
        assert!(resident_kib <= max_kib, "{name}: {resident_kib} KiB");
    }
    let answers = others.end();
    println!("{answers} answers to others; {began_kib} KiB at the start");
    assert_eq!(server.terminate().0, Some(0));
}
