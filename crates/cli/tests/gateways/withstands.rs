//! What a client cannot do, whatever it sends.

use super::client::{Client, Request};
use super::gateway::Gateway;
use super::{ITEMS, LOGIN, Site};

pub(crate) fn forged_headers_change_nothing(gateway: &'static Gateway) {
    let site = Site::open(gateway);
    site.exhaust(Client::FIRST);
    for name in ["X-Forwarded-For", "X-Real-IP", "X-Client-IP", "True-Client-IP", "x-forwarded-for"] {
        for value in ["203.0.113.9", "203.0.113.9, 127.0.0.1", "127.0.0.3"] {
            let answer = site.ask(Client::FIRST, &Request { headers: &[(name, value)], ..LOGIN });
            assert_eq!(answer.status, 429, "{name}: {value} frees: {answer:?}");
        }
    }
    let forwarded =
        &[("Forwarded", "for=203.0.113.9"), ("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-For", "a")];
    assert_eq!(site.ask(Client::FIRST, &Request { headers: forwarded, ..LOGIN }).status, 429);
    let elsewhere = &[
        ("X-Forwarded-Uri", "/free"),
        ("X-Original-URI", "/free"),
        ("X-Original-URL", "/free"),
        ("X-Forwarded-Method", "GET"),
        ("X-Original-Method", "GET"),
        ("X-Forwarded-Host", "free.example"),
    ];
    assert_eq!(site.ask(Client::FIRST, &Request { headers: elsewhere, ..LOGIN }).status, 429);
    // Nor can it use up what belongs to another.
    let blamed = &[("X-Forwarded-For", "127.0.0.3")];
    let answer = site.ask(Client::THIRD, &Request { headers: blamed, ..LOGIN });
    assert_eq!(answer.status, 200, "{answer:?}");
    site.exhaust(Client::SECOND);
}

/// Where the gateway lets pass what is not answered, nobody may be able to make the service not answer.
pub(crate) fn what_cannot_be_judged_does_not_pass(gateway: &'static Gateway) {
    let site = Site::open(gateway);
    let admitted = site.upstream.seen();
    let long = "x".repeat(5000);
    let longer = "x".repeat(200_000);
    let many: Vec<String> = (0..150).map(|number| format!("X-Header-{number}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "x")).collect();
    let hostile: [&[(&str, &str)]; 3] = [
        &[("X-Api-Key", &long)],
        &[("X-Api-Key", &longer)],
        &[("X-Api-Key", "leaked"), ("X-Filler", &longer)],
    ];
    for headers in hostile {
        let request = Request { headers, ..ITEMS };
        // Who refuses such a request may hang up before it has been sent.
        if let Ok(answer) = site.try_ask(Client::FIRST, &request) {
            assert!((400..=503).contains(&answer.status), "{answer:?}");
        }
        assert_eq!(site.upstream.seen(), admitted, "it came to the API: {headers:?}");
    }
    let answer =
        site.ask(Client::FIRST, &Request { headers: &[("X-Api-Key", "k-1"), ("X-Api-Key", "k-2")], ..ITEMS });
    if site.upstream.seen() > admitted {
        let keys = site.upstream.last().values("x-api-key");
        assert_eq!(keys, 1, "the API and the service may take different ones for the key: {answer:?}");
        assert_eq!(site.told_left(gateway, &answer), Some(99));
    }
    let admitted = site.upstream.seen();
    // So many headers may be refused by anyone. If they pass, they are counted.
    site.exhaust(Client::FIRST);
    let answer = site.ask(Client::FIRST, &Request { headers: &many, ..LOGIN });
    assert!((400..=503).contains(&answer.status), "{answer:?}");
    assert_eq!(site.upstream.seen(), admitted + 3);
}
