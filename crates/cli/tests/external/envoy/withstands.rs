//! What a client cannot do, whatever it sends.

use std::io::{Read, Write};
use std::net::TcpStream;

use tempfile::TempDir;

use super::client::{Client, Request};
use super::setup::Setup;
use super::site::Site;
use super::{SEARCH, parameter};

#[test]
fn forged_headers_and_other_spellings_change_nothing() {
    let site = Site::open();
    site.exhaust(Client::FIRST);
    let forged = ["X-Forwarded-For", "X-Real-IP", "X-Envoy-External-Address", "Forwarded", "True-Client-IP"];
    for name in forged {
        for value in ["203.0.113.9", "203.0.113.9, 127.0.0.1", "127.0.0.3"] {
            let answer = site.ask(Client::FIRST, &Request { headers: &[(name, value)], ..SEARCH });
            assert_eq!(answer.status, 429, "{name}: {value} frees: {answer:?}");
        }
    }
    let elsewhere = &[("X-Envoy-Original-Path", "/free"), ("X-Forwarded-Path", "/free")];
    assert_eq!(site.ask(Client::FIRST, &Request { headers: elsewhere, ..SEARCH }).status, 429);
    for target in
        ["/search", "/search?", "//search", "/./search", "/free/../search", "/%73earch", "/search?a=/free"]
    {
        assert_eq!(site.ask(Client::FIRST, &Request { target, ..SEARCH }).status, 429, "{target}");
    }
    // Nor can it use up what belongs to another.
    let blamed = &[("X-Forwarded-For", "127.0.0.3")];
    assert_eq!(site.ask(Client::THIRD, &Request { headers: blamed, ..SEARCH }).status, 200);
    site.exhaust(Client::SECOND);
}

/// Envoy lets pass what is not answered, so nobody may be able to make the service not answer.
#[test]
fn what_cannot_be_judged_does_not_pass() {
    let site = Site::open();
    site.exhaust(Client::FIRST);
    let admitted = site.upstream.count();
    for bytes in [3_000, 5_000, 20_000, 50_000, 100_000] {
        let target = format!("/search?q={}", "x".repeat(bytes));
        // Who refuses such a request may hang up before it has been sent.
        if let Ok(answer) = site.try_ask(Client::FIRST, &Request { target: &target, ..SEARCH }) {
            assert!((400..=431).contains(&answer.status), "{bytes}: {}, {:?}", answer.status, answer.headers);
        }
        let key = "x".repeat(bytes);
        let headers = [("X-Api-Key", key.as_str())];
        if let Ok(answer) = site.try_ask(Client::FIRST, &Request { headers: &headers, ..SEARCH }) {
            assert!((400..=431).contains(&answer.status), "{bytes}: {}, {:?}", answer.status, answer.headers);
        }
    }
    assert_eq!(site.upstream.count(), admitted, "it came to the API");
}

/// Neither does a call that is as long as Envoy can make it: it passes heads of 60 KB on, here in
/// five descriptors.
#[test]
fn what_is_repeated_in_many_descriptors_does_not_pass() {
    let path = "- actions: [{ request_headers: { header_name: \":path\", descriptor_key: seen } }]\n";
    let many = format!("{:24}{path}", "").repeat(4);
    let routes = format!("{:22}routes:\n", "");
    let setup = Setup::of_page().envoy(&routes, &format!("{many}{routes}"));
    let site = Site::of(&setup, TempDir::new().expect("a folder"));
    site.exhaust(Client::FIRST);
    let admitted = site.upstream.count();
    for target in [format!("/search?q={}", "x".repeat(55_000)), format!("/search/{}", "x".repeat(55_000))] {
        let answer = site.ask(Client::FIRST, &Request { target: &target, ..SEARCH });
        assert_eq!(answer.status, 429, "{:?}", answer.headers);
    }
    assert_eq!(site.upstream.count(), admitted, "it came to the API");
}

/// Bytes that are no text are a value like any other.
#[test]
fn bytes_that_are_no_text_are_counted() {
    let site = Site::open();
    let head = b"GET /search HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nX-Api-Key: \xff\xfe\r\n\r\n";
    let statuses = [0; 5].map(|_| {
        let mut stream = TcpStream::connect(site.proxy.address()).expect("Envoy listens");
        stream.write_all(head).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        String::from_utf8_lossy(&answer[9..12]).into_owned()
    });
    assert_eq!(statuses, ["200", "200", "200", "429", "429"]);
}

/// Of two headers Envoy takes the first, and passes both on.
#[test]
fn the_first_of_two_keys_is_charged() {
    let site = Site::open();
    let answer = site
        .ask(Client::FIRST, &Request { headers: &[("X-Api-Key", "k-1"), ("X-Api-Key", "k-2")], ..SEARCH });
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!((site.left_to("k-1"), site.left_to("k-2")), (99, 100));
    assert_eq!(site.upstream.last().values("x-api-key"), 2);
    assert_eq!(parameter(answer.header("ratelimit").expect("a header"), "r"), Some(2));
}
