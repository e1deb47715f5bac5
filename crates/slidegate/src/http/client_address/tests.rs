//! Client addresses, row by row and for any chain of hops.

use super::*;
use ::http::header::HeaderValue;

fn headers(lines: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(X_FORWARDED_FOR, HeaderValue::from_bytes(line.as_bytes()).expect("a header value"));
    }
    headers
}

fn nets(nets: &[&str]) -> Vec<IpNet> {
    nets.iter().map(|net| net.parse().expect("a net")).collect()
}

fn trusted() -> Vec<IpNet> {
    nets(&["127.0.0.0/8", "::1/128", "10.0.0.0/8", "2001:db8:ffff::/48"])
}

#[test]
fn the_rightmost_hop_that_is_not_trusted() {
    let rows: &[(&str, &[&str], &str)] = &[
        // Nobody says anything, or nobody who is trusted does.
        ("127.0.0.1", &[], "127.0.0.1"),
        ("203.0.113.9", &[], "203.0.113.9"),
        ("203.0.113.9", &["198.51.100.1"], "203.0.113.9"),
        ("203.0.113.9", &["127.0.0.1, 10.1.1.1"], "203.0.113.9"),
        // One proxy, several, and what the client made up before them.
        ("127.0.0.1", &["198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", &["198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("127.0.0.1", &["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", &["10.6.6.6, 198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("127.0.0.1", &["6.6.6.6,198.51.100.1,10.0.0.2"], "198.51.100.1"),
        // Several lines are one list.
        ("127.0.0.1", &["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", &["6.6.6.6, 198.51.100.1", "10.0.0.2, 10.0.0.3"], "198.51.100.1"),
        // All of them are ours.
        ("127.0.0.1", &["10.0.0.9, 10.0.0.2"], "10.0.0.9"),
        // Ports and brackets.
        ("127.0.0.1", &["198.51.100.1:4711"], "198.51.100.1"),
        ("::1", &["2001:db8::7"], "2001:db8::7"),
        ("::1", &["[2001:db8::7]"], "2001:db8::7"),
        ("::1", &["[2001:db8::7]:4711"], "2001:db8::7"),
        ("::1", &["2001:db8::7, [2001:db8:ffff::1]:80"], "2001:db8::7"),
        // v4 in v6 is v4.
        ("::ffff:127.0.0.1", &["::ffff:198.51.100.1"], "198.51.100.1"),
        ("::ffff:203.0.113.9", &["198.51.100.1"], "203.0.113.9"),
        ("127.0.0.1", &["198.51.100.1, [::ffff:10.0.0.1]:80"], "198.51.100.1"),
        // What cannot be read is nobody's address: not that of the proxy that wrote it.
        ("127.0.0.1", &["198.51.100.1, unknown, 10.0.0.2"], "nobody"),
        ("127.0.0.1", &["unknown"], "nobody"),
        ("127.0.0.1", &["198.51.100.1, 300.1.1.1"], "nobody"),
        ("127.0.0.1", &["[198.51.100.1]"], "nobody"),
        ("127.0.0.1", &["198.51.100.1:99999"], "nobody"),
        ("127.0.0.1", &["198.51.100.1, \u{ff}"], "nobody"),
        ("127.0.0.1", &["unknown, 198.51.100.1"], "198.51.100.1"),
        ("203.0.113.9", &["unknown"], "203.0.113.9"),
        // Empty items are no hops.
        ("127.0.0.1", &[""], "127.0.0.1"),
        ("127.0.0.1", &["198.51.100.1, , ,", " , "], "198.51.100.1"),
    ];
    for (peer, lines, client) in rows {
        let peer = peer.parse().expect("an address");
        let found = client_address(peer, &headers(lines), &trusted());
        let found = found.map_or_else(|| "nobody".to_owned(), |found| found.to_string());
        assert_eq!(found, *client, "{peer} with {lines:?}");
    }
}

#[test]
fn without_trust_only_the_peer_counts() {
    let peer = "127.0.0.1".parse().expect("an address");
    assert_eq!(client_address(peer, &headers(&["198.51.100.1"]), &[]), Some(peer));
}

/// What a client writes into the header before the proxies write theirs never changes whose request
/// it is.
#[test]
fn a_forged_header_changes_nothing() {
    const JUNK: [&str; 10] =
        ["10.0.0.1", "127.0.0.1", "6.6.6.6", "unknown", "", "::1", "[::1]:80", "\t", "a b", "\u{ff}"];
    slidegate_testkit::cases::prove(
        |rng| {
            let client = IpAddr::from([203, 0, 113, rng.below(256) as u8]);
            let proxies = (0..rng.below(4)).map(|n| format!("10.0.{n}.{}", rng.below(256)));
            let chain: Vec<String> = [client.to_string()].into_iter().chain(proxies).collect();
            // The proxies append to the client's line, or add one.
            let joint = rng.pick(&[", ", ",", "\n"]);
            let forged = (0..rng.below(5)).map(|_| rng.pick(&JUNK)).collect();
            ((client, chain.join(", "), joint), forged)
        },
        |(client, chain, joint), forged| {
            let written = [forged.join(","), chain.clone()].join(joint);
            let headers = headers(&written.lines().collect::<Vec<_>>());
            let behind_proxies = client_address(IpAddr::from([127, 0, 0, 1]), &headers, &trusted());
            let by_itself = client_address(*client, &headers, &trusted());
            let same = behind_proxies == Some(*client) && by_itself == Some(*client);
            same.then_some(()).ok_or_else(|| format!("{behind_proxies:?} and {by_itself:?}"))
        },
    );
}
