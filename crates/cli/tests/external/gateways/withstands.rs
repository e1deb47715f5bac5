//! What a client cannot do, whatever it sends.

use super::broken_service::BrokenService;
use super::client::{Client, Request};
use super::gateway::Gateway;
use super::upstream::Upstream;
use super::{ITEMS, LOGIN, Site, parameter};

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

/// Where the gateway lets pass what is not answered, nobody may be able to make the service not
/// answer.
pub(crate) fn what_cannot_be_judged_does_not_pass(gateway: &'static Gateway) {
    let site = Site::open(gateway);
    let admitted = site.upstream.count();
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
        assert_eq!(site.upstream.count(), admitted, "it came to the API: {headers:?}");
    }
    let answer =
        site.ask(Client::FIRST, &Request { headers: &[("X-Api-Key", "k-1"), ("X-Api-Key", "k-2")], ..ITEMS });
    if site.upstream.count() > admitted {
        let keys = site.upstream.last().values("x-api-key");
        assert_eq!(keys, 1, "the API and the service may take different ones for the key: {answer:?}");
        assert_eq!(site.remaining(gateway, &answer), Some(99));
    }
    let admitted = site.upstream.count();
    // So many headers may be refused by anyone. If they pass, they are counted.
    site.exhaust(Client::FIRST);
    let answer = site.ask(Client::FIRST, &Request { headers: &many, ..LOGIN });
    assert!((400..=503).contains(&answer.status), "{answer:?}");
    assert_eq!(site.upstream.count(), admitted + 3);
}

/// Whatever is long, and however long: a request that has to be refused is refused. What fills the
/// buffer of a gateway must not leave it without an answer that it then takes for a service that is
/// down.
pub(crate) fn long_requests_do_not_pass(gateway: &'static Gateway) {
    let site = Site::open(gateway);
    site.exhaust(Client::FIRST);
    let admitted = site.upstream.count();
    let lengths = (1_000..=20_000).step_by(500).chain((14_900..=15_500).step_by(20));
    let lengths: Vec<usize> =
        lengths.chain([3_900, 4_100, 8_100, 8_200, 32_000, 33_000, 65_000, 66_000]).collect();
    for length in lengths {
        let filler = "x".repeat(length);
        let query = format!("/login?{filler}");
        let parameters = format!("/login;{filler}");
        let host = format!("{filler}.example");
        let requests = [
            Request { target: &query, ..LOGIN },
            Request { target: &parameters, ..LOGIN },
            Request { headers: &[("X-Api-Key", &filler)], ..LOGIN },
            Request { headers: &[("X-Forwarded-Host", &host)], ..LOGIN },
            Request { headers: &[("Cookie", &filler)], ..LOGIN },
        ];
        for (number, request) in requests.iter().enumerate() {
            // Who refuses such a request may hang up before it has been sent.
            if let Ok(answer) = site.try_ask(Client::FIRST, request) {
                assert!(
                    (400..=503).contains(&answer.status),
                    "request {number} of {length}: {}",
                    answer.status
                );
            }
            assert_eq!(site.upstream.count(), admitted, "request {number} of {length} bytes came to the API");
        }
    }
}

/// An answer about as many limits as there can be still is an answer, and headers of it arrive.
pub(crate) fn many_limits_do_not_pass(gateway: &'static Gateway) {
    let rule = "y".repeat(64);
    let limits: Vec<String> = (0..31)
        .map(|number| {
            format!("{{ quota: {}, window: 1h, name: {}{number:02} }}", 1_000_000 + number, "z".repeat(62))
        })
        .collect();
    let rules =
        format!("  - {{ name: {rule}, match: {{ path: /login }}, limits: [{}] }}\n", limits.join(", "));
    let site = Site::open_with(gateway, &rules);
    for left in [2, 1, 0] {
        let answer = site.ask(Client::FIRST, &LOGIN);
        assert_eq!((answer.status, site.remaining(gateway, &answer)), (200, Some(left)), "{answer:?}");
    }
    let admitted = site.upstream.count();
    let answer = site.ask(Client::FIRST, &LOGIN);
    assert_eq!(answer.status, 429, "{answer:?}");
    let field = answer.header("ratelimit").unwrap_or_else(|| panic!("no limit is told: {answer:?}"));
    assert_eq!(parameter(field, "r"), Some(0), "the limit that refuses is among them: {field}");
    assert_eq!(site.upstream.count(), admitted);
}

/// An answer that cannot be read is no service that is away: a client may have had a part in it.
pub(crate) fn answers_that_cannot_be_read_do_not_pass(gateway: &'static Gateway) {
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: {}\r\n\r\n", "x".repeat(20 << 20));
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nRateLim";
    for (what, answer) in [("no HTTP", "OVER LIMIT\r\n\r\n"), ("cut off", cut), ("too long", &long)] {
        let service = BrokenService::start(answer.as_bytes().to_vec());
        let upstream = Upstream::start();
        let gateway = gateway.start(service.port(), upstream.port());
        let admitted = upstream.count();
        for _ in 0..3 {
            let answer = Client::FIRST.ask(gateway.address(), &LOGIN);
            assert!((400..=503).contains(&answer.status), "{what}: {answer:?}");
        }
        assert_eq!(upstream.count(), admitted, "it came to the API: {what}");
    }
}
