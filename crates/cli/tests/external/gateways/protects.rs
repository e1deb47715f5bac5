//! What every recipe does for the API.

use super::client::{Client, Request};
use super::gateway::{Gateway, Unanswered};
use super::{ITEMS, LOGIN, Site, parameter};

pub(crate) fn over_the_limit_is_429(gateway: &'static Gateway) {
    let site = Site::open(gateway);
    for left in [2, 1, 0] {
        let answer = site.ask(Client::FIRST, &LOGIN);
        assert_eq!((answer.status, answer.text()), (200, "POST /login\nname=alice"), "{answer:?}");
        assert_eq!(site.remaining(gateway, &answer), Some(left), "{answer:?}");
    }
    let admitted = site.upstream.count();
    let answer = site.ask(Client::FIRST, &LOGIN);
    assert_eq!(answer.status, 429, "{answer:?}");
    assert_eq!(site.upstream.count(), admitted, "what is refused does not reach the API");

    let header = |name: &str| answer.header(name).unwrap_or_else(|| panic!("{name} is missing: {answer:?}"));
    let retry_after_s: u64 = header("retry-after").parse().expect("seconds");
    assert!((1..=60).contains(&retry_after_s), "{answer:?}");
    assert_eq!(parameter(header("ratelimit"), "r"), Some(0));
    assert!(parameter(header("ratelimit"), "t").is_some_and(|t_s| (1..=60).contains(&t_s)), "{answer:?}");
    assert_eq!(parameter(header("ratelimit-policy"), "q"), Some(3));
    assert_eq!(parameter(header("ratelimit-policy"), "w"), Some(60));
    assert_eq!(header("content-type"), "application/problem+json");
    assert!(answer.text().contains(r#""status":429"#), "{answer:?}");

    let other_method = Request { method: "GET", body: b"", ..LOGIN };
    assert_eq!(site.ask(Client::FIRST, &other_method).status, 200, "only POST is limited");
    assert_eq!(site.ask(Client::SECOND, &LOGIN).status, 200, "another client has a limit of its own");
}

pub(crate) fn headers_of_the_policy_pass(gateway: &'static Gateway) {
    let site = Site::open(gateway);
    let with_key = |client, key| site.ask(client, &Request { headers: &[("X-Api-Key", key)], ..ITEMS });
    for (client, left) in [(Client::FIRST, 99), (Client::SECOND, 98), (Client::FIRST, 97)] {
        let answer = with_key(client, "k-1");
        assert_eq!((answer.status, site.remaining(gateway, &answer)), (200, Some(left)), "{answer:?}");
    }
    let answer = with_key(Client::FIRST, "k-2");
    assert_eq!((answer.status, site.remaining(gateway, &answer)), (200, Some(99)), "{answer:?}");

    let barred = with_key(Client::FIRST, "leaked");
    assert_eq!(barred.status, 403, "a deny list is no limit that one could wait for: {barred:?}");
    assert_eq!((barred.header("retry-after"), barred.header("ratelimit")), (None, None), "{barred:?}");
}

pub(crate) fn bodies_and_queries_pass(gateway: &'static Gateway) {
    let site = Site::open(gateway);
    let body: Vec<u8> = (0..256 * 1024_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let request = Request { method: "PUT", target: "/files/a%2Fb?x=1&y=%20", headers: &[], body: &body };
    let answer = site.ask(Client::FIRST, &request);
    assert_eq!(answer.status, 200);
    let received = site.upstream.last();
    assert_eq!((received.method.as_str(), received.target.as_str()), ("PUT", request.target));
    assert!(
        received.body() == body,
        "the body has changed on its way: {} bytes arrived",
        received.body().len()
    );
    let (line, echoed) = answer.body.split_at(answer.body.len() - body.len());
    assert_eq!(line, format!("PUT {}\n", request.target).as_bytes());
    assert!(echoed == body, "the answer has changed on its way");

    let chunked = Request {
        method: "POST",
        target: "/chunks",
        headers: &[("Transfer-Encoding", "chunked")],
        body: b"5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n",
    };
    let answer = site.ask(Client::FIRST, &chunked);
    assert_eq!((answer.status, answer.text()), (200, "POST /chunks\nhello, world"));

    // A query does not make it another path, nor can it ask in the words of the service.
    let targets =
        ["/login?next=%2Fhome", "/login?cost=0", "/login?deny_status=401", "/login?cost=0&deny_status=503"];
    for (target, status) in targets.into_iter().zip([200, 200, 200, 429]) {
        assert_eq!(site.ask(Client::FIRST, &Request { target, ..LOGIN }).status, status, "{target}");
    }
    for target in targets {
        assert_eq!(site.ask(Client::FIRST, &Request { target, ..LOGIN }).status, 429, "{target}");
    }
}

pub(crate) fn refusals_of_the_api_stay_as_they_are(gateway: &'static Gateway) {
    let site = Site::open(gateway);
    for status in [401, 403, 404, 429, 500, 503] {
        let target = format!("/status/{status}");
        let answer =
            site.ask(Client::FIRST, &Request { method: "GET", target: &target, headers: &[], body: b"" });
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.text(), format!("GET {target}\n"));
        assert_eq!(answer.header("retry-after"), None);
    }
}

pub(crate) fn without_the_service(gateway: &'static Gateway) {
    let mut site = Site::open(gateway);
    site.exhaust(Client::FIRST);
    assert_eq!(site.ask(Client::FIRST, &LOGIN).status, 429);
    let ask = |site: &Site| {
        let answer = site.ask(Client::FIRST, &LOGIN);
        let expected = match gateway.unanswered {
            Unanswered::Passes => (200, "POST /login\nname=alice"),
            Unanswered::Refused(status) => (status, ""),
        };
        assert_eq!((answer.status, answer.text()), expected, "{answer:?}");
    };
    // Traefik would wait for half a minute.
    if gateway.unanswered == Unanswered::Passes {
        site.service.hang();
        (0..2).for_each(|_| ask(&site));
    }
    site.service.stop();
    (0..3).for_each(|_| ask(&site));
}
