//! The golden decisions on every server that is supported.
#![cfg(feature = "redis")]

use slidegate::store::redis::Config;

mod decides;
mod servers;
mod traces;

use decides::InRedis;
use servers::{Flavour, Server};
use traces::{Way, run_all};

#[test]
fn every_trace_on_every_server() {
    for flavour in Flavour::all() {
        let server = Server::start(flavour);
        let store = InRedis::new(Config::parse(&server.url()).expect("a URL"));
        run_all(&[Way::Together, Way::Apart], |_| store.another());
    }
}
