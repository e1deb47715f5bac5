//! The golden decisions on every server that is supported.

use slidegate::store::redis::RedisConfig;
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::drivers::RedisDriver;
use crate::vectors::{Way, run_all};

#[test]
fn every_trace_on_every_server() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = RedisDriver::new(RedisConfig::parse(&server.url()).expect("a URL"));
        run_all(&[Way::Together, Way::Apart], |_| store.another());
    }
}
