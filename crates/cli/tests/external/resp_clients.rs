//! Clients of Redis as they are published, unmodified, in session with the service: redis-cli,
//! redis-py and ioredis, each in both versions of the protocol.

mod client;
mod detour;
mod page;
mod session;
mod tools;

mod auth;
mod conversation;
mod native;
mod permits;
mod pipelines;
mod reconnect;
mod tls;

use std::net::SocketAddr;

use client::{ALL, BOTH, Client, Entry};
use session::Session;
use slidegate_testkit::program::{ServerProcess, file, path};

/// What they session about.
const POLICY: &str = "
version: 1
rules:
  - { name: login, match: { method: POST, path: /login }, key: [ip], limits: [2/day] }
  - { name: jobs, match: { path: /jobs }, key: [user], limits: [10/day], refundable: true }
  - { name: shut, match: { path: /shut }, limits: [1/day], deny: [{ user: mallory }] }
";

/// A service with the protocol of Redis on a port of its own.
struct Service {
    _process: ServerProcess,
    at: SocketAddr,
}

impl Service {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(more: &[&str]) -> Self {
        Self::with_policy(POLICY, &[&["--resp", "127.0.0.1:0"], more].concat())
    }

    /// The listener is in the policy, or among the flags.
    fn with_policy(policy: &str, more: &[&str]) -> Self {
        let file = file(policy);
        let process = ServerProcess::start(&[&[path(&file)], more].concat());
        let at = process.resp();
        Self { _process: process, at }
    }
}

/// Runs a test for every client and every version of the protocol, each with a service of its own.
fn everybody(test: impl Fn(Client, &mut Session)) {
    for (client, protocol) in ALL.into_iter().flat_map(|client| BOTH.map(|protocol| (client, protocol))) {
        let service = Service::start();
        test(client, &mut client.enter(Entry::of(service.at, protocol)));
    }
}
