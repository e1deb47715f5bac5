//! What `slidegate import` makes of a file of envoyproxy/ratelimit answers the Envoy that asked
//! that.

use std::time::{SystemTime, UNIX_EPOCH};

use slidegate_testkit::program::{file, path, run};
use tempfile::TempDir;

use super::SEARCH;
use super::client::{Client, Request};
use super::page;
use super::setup::Setup;
use super::site::Site;

const DAY_S: u64 = 24 * 60 * 60;

fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs() / DAY_S
}

#[test]
fn envoy_needs_no_other_configuration() {
    let ended = run(&["import", "envoy", path(&file(&page::file("ratelimit.yaml")))]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    let setup = Setup { policy: ended.stdout, ..Setup::of_page() };
    let keyed = Request { headers: &[("X-Api-Key", "k-1")], target: "/elsewhere", ..SEARCH };
    // Windows of a day end at midnight.
    loop {
        let day = today();
        let site = Site::of(&setup, TempDir::new().expect("a folder"));
        let searches = [0; 4].map(|_| site.ask(Client::FIRST, &SEARCH).status);
        let others = [0; 3].map(|_| site.ask(Client::FIRST, &keyed).status);
        let another = site.ask(Client::SECOND, &SEARCH).status;
        if today() == day {
            assert_eq!((searches, others, another), ([200, 200, 200, 429], [200, 200, 429], 200));
            return;
        }
    }
}
