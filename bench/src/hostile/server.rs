//! The service with all of its listeners.

use std::net::SocketAddr;

use crate::cores::free_address;
use crate::http::policy;
use crate::http::server::{Server, beside_us};

/// Time-outs that are short enough for attackers to be cut off, and to come again, within a round.
const POLICY: &str = "version: 1
server: {connections: {head_timeout: 1s, body_timeout: 1s, write_timeout: 1s, idle_timeout: 10min}}
rules: [{name: api, key: [user], limits: [1000000/s]}]
";

/// Starts the server; the addresses of its listeners, in the order of [`super::PROTOCOLS`].
pub fn serve() -> (Server, [SocketAddr; 4]) {
    let [grpc, resp, admin] = [(); 3].map(|()| free_address());
    let file = policy::file(POLICY);
    let server = Server::start(&beside_us("slidegate"), |command, address| {
        command.args(["serve", "-", "--http", &address.to_string()]).stdin(file);
        for (flag, address) in [("--grpc", grpc), ("--resp", resp), ("--admin", admin)] {
            command.args([flag, &address.to_string()]);
        }
    });
    let http = server.address();
    (server, [http, grpc, resp, admin])
}
