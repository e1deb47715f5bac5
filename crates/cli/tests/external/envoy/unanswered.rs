//! What happens to requests that the service does not answer is Envoy's to say, both ways.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::SEARCH;
use super::client::Client;
use super::setup::Setup;
use super::site::Site;

const BACK_WITHIN: Duration = Duration::from_secs(20);

/// A service that hangs, one that is back, and one that is gone.
fn without_the_service(setup: &Setup, expected: (u16, &str)) {
    let mut site = Site::of(setup, TempDir::new().expect("a folder"));
    site.exhaust(Client::FIRST);
    assert_eq!(site.ask(Client::FIRST, &SEARCH).status, 429);
    let ask = |site: &Site| {
        let admitted = site.upstream.count();
        let answer = site.ask(Client::FIRST, &SEARCH);
        assert_eq!((answer.status, answer.text()), expected, "{answer:?}");
        assert_eq!(answer.header("ratelimit"), None, "nobody knows: {answer:?}");
        assert_eq!(site.upstream.count() - admitted, usize::from(expected.0 == 200));
    };
    site.service.hang();
    (0..2).for_each(|_| ask(&site));
    site.service.signal("CONT");
    let deadline = Instant::now() + BACK_WITHIN;
    while site.ask(Client::FIRST, &SEARCH).status != 429 {
        assert!(Instant::now() < deadline, "it is not asked again");
    }
    site.service.stop();
    (0..3).for_each(|_| ask(&site));
}

#[test]
fn requests_pass() {
    without_the_service(&Setup::of_page(), (200, "GET /search?q=saw\n"));
}

#[test]
fn requests_are_refused() {
    let setup = Setup::of_page().envoy("failure_mode_deny: false", "failure_mode_deny: true");
    without_the_service(&setup, (500, ""));
}

/// The service is there, its store is not, and the rule denies meanwhile: that is no answer,
/// either.
#[test]
fn a_store_that_does_not_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let store =
        format!("store: {{ kind: redis, url: 'redis://{}' }}", silent.local_addr().expect("an address"));
    let setup = Setup::of_page()
        .policy("version: 1", &format!("version: 1\n{store}"))
        .policy("limits: [\"3/min\"]", "limits: [\"3/min\"]\n    on_store_error: deny");
    for (mode, status) in [("failure_mode_deny: false", 200), ("failure_mode_deny: true", 500)] {
        let setup = setup.clone().envoy("failure_mode_deny: false", mode);
        let site = Site::of(&setup, TempDir::new().expect("a folder"));
        for _ in 0..5 {
            let answer = site.ask(Client::FIRST, &SEARCH);
            assert_eq!((answer.status, answer.header("ratelimit")), (status, None), "{mode}: {answer:?}");
        }
    }
}

/// With the status that the page names.
#[test]
fn requests_are_refused_with_a_status() {
    let setup = Setup::of_page()
        .envoy("failure_mode_deny: false", "failure_mode_deny: true")
        .with_block("domain: shop", "status_on_error");
    let mut site = Site::of(&setup, TempDir::new().expect("a folder"));
    assert_eq!(site.ask(Client::FIRST, &SEARCH).status, 200);
    site.service.stop();
    assert_eq!(site.ask(Client::FIRST, &SEARCH).status, 503);
}
