//! Different subjects have different keys, and one subject has one, however it is written.

use std::collections::HashMap;

use slidegate::policy::file::{File, Missing, RuleEntry, Spanned};
use slidegate::policy::{Blocked, Choice, Policy, RequestAddress};
use slidegate::{Key, Request};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::policies::{file_of, limits, spot};

fn policy(key: &[&str], missing: Missing) -> Policy {
    let key = key.iter().map(|part| spot(part)).collect();
    let rule = RuleEntry {
        name: spot("rule"),
        key,
        missing: Some(missing),
        limits: limits(&["5/min"]),
        ..RuleEntry::default()
    };
    Policy::compile(file_of(rule)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn key(policy: &Policy, attributes: &[(&str, &str)]) -> Option<Key<'static>> {
    let request =
        attributes.iter().fold(Request::new(), |request, (name, value)| request.with(*name, *value));
    match policy.choose(&request) {
        Ok(Choice::Hits(hits)) => hits.first().map(|hit| hit.key.clone().into_owned()),
        other => panic!("{attributes:?}: {other:?}"),
    }
}

/// An address is the same subject as its text, whether or not the policy has a short way to find it.
#[test]
fn addresses_are_the_subjects_of_their_texts() {
    let policies = [policy(&["ip"], Missing::Shared), policy(&["user|ip"], Missing::Deny)];
    let texts = [
        "192.0.2.1",
        "0.0.0.0",
        "255.255.255.255",
        "::ffff:192.0.2.1",
        "2001:db8:1:2:3::4",
        "64:ff9b::192.0.2.1",
        "2002:c000:0201::1",
        "::",
    ];
    for text in texts {
        let address = RequestAddress::new(text.parse().expect("an address"));
        let mut request = Request::new();
        request.set_address(&address);
        for policy in &policies {
            let plain = policy.choose_plain(&request).expect("a request").expect("a plain policy");
            assert_eq!(Some(&plain.key), key(policy, &[("ip", text)]).as_ref(), "{text}");
            assert_eq!(policy.choose(&request), Ok(Choice::Hits([plain].into_iter().collect())), "{text}");
        }
    }
}

/// Texts that look like each other's encoding.
const VALUES: [&str; 10] = [
    "",
    "a",
    "b",
    "ab",
    "user",
    "org",
    "\0",
    "\u{1}\0\0\0\0\0\0\0a",
    "\0\0\0\0\0\0\0\0",
    "\u{4}\0\0\0\0\0\0\0user\u{1}\0\0\0\0\0\0\0a",
];

/// Two requests share a key if and only if the same attributes were taken with the same values.
#[test]
fn keys_are_injective() {
    let keys: [&[&str]; 7] = [
        &["user"],
        &["user|org"],
        &["user|org|app"],
        &["user", "org"],
        &["user|org", "app"],
        &["app", "user|org"],
        &["user|app", "org|tenant"],
    ];
    let generate = |rng: &Rng| {
        let attributes = |_| {
            let names = ["user", "org", "app", "tenant"].into_iter().filter(|_| !rng.one_in(3));
            names.map(|name| (name, rng.pick(&VALUES))).collect::<Vec<_>>()
        };
        (rng.pick(&keys), (0..24).map(attributes).collect::<Vec<_>>())
    };
    prove(generate, |written, requests| {
        let policy = policy(written, Missing::Shared);
        let mut subjects: HashMap<Key<'static>, Vec<Option<(&str, &str)>>> = HashMap::new();
        for attributes in requests {
            let values = written.iter().map(|part| {
                let is_there =
                    |name: &str| attributes.iter().find(|(of, value)| *of == name && !value.is_empty());
                part.split('|').find_map(is_there).copied()
            });
            let (values, key) = (values.collect::<Vec<_>>(), key(&policy, attributes).expect("a key"));
            let first = subjects.entry(key).or_insert_with(|| values.clone());
            ensure!(*first == values, "{first:?} and {values:?} share a key");
        }
        let mut all: Vec<_> = subjects.values().collect();
        all.sort();
        let count = all.len();
        all.dedup();
        ensure!(all.len() == count, "a subject has two keys");
        Ok(())
    });
}

/// Whoever sends somebody's address as an API key does not become that client.
#[test]
fn an_alternative_cannot_be_forged() {
    let policy = policy(&["api_key|ip"], Missing::Shared);
    let victim = key(&policy, &[("ip", "192.0.2.1")]);
    assert_ne!(key(&policy, &[("api_key", "192.0.2.1"), ("ip", "203.0.113.9")]), victim);
    assert_ne!(key(&policy, &[("api_key", "ip192.0.2.1")]), victim);
    assert_eq!(key(&policy, &[("api_key", ""), ("ip", "192.0.2.1")]), victim, "an empty one is none");
}

/// All spellings of a client's address are one subject; its neighbours are others.
#[test]
fn addresses_are_folded_and_grouped() {
    let policy = policy(&["ip"], Missing::Shared);
    let of = |address| key(&policy, &[("ip", address)]).expect("a key");
    let clients: [&[&str]; 5] = [
        &["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:c000:0201"],
        &["192.0.2.2", "::ffff:192.0.2.2"],
        &["2001:db8::1", "2001:DB8::1", "2001:db8:0::2", "2001:db8::ffff:ffff:ffff:ffff"],
        &["2001:db8:0:1::1", "2001:db8:0:1:8000::"],
        &["::1", "::192.0.2.1"],
    ];
    for (index, spellings) in clients.iter().enumerate() {
        for spelling in *spellings {
            assert_eq!(of(spelling), of(spellings[0]), "{spelling}");
        }
        for other in &clients[..index] {
            assert_ne!(of(spellings[0]), of(other[0]));
        }
    }
}

#[test]
fn the_prefix_is_configurable() {
    let prefixes = [(32, true, true), (48, true, false), (64, false, false), (128, false, false)];
    for (bits, same_48, same_32) in prefixes {
        let rule = RuleEntry {
            name: spot("r"),
            key: vec![spot("ip")],
            limits: limits(&["5/min"]),
            ..RuleEntry::default()
        };
        let file = File { ipv6_prefix: Spanned::of(bits), ..file_of(rule) };
        let policy = Policy::compile(file).expect("a policy");
        let of = |address| key(&policy, &[("ip", address)]);
        assert_eq!(of("2001:db8:0:1::1") == of("2001:db8:0:2::1"), same_48, "{bits}");
        assert_eq!(of("2001:db8:1::1") == of("2001:db8:2::1"), same_32, "{bits}");
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"), "{bits}");
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"), "{bits}");
    }
}

#[test]
fn what_is_missing() {
    for written in [&["user"] as &[&str], &["user", "org"], &["org|app", "user"]] {
        let complete: &[(&str, &str)] = &[("user", "alice"), ("org", "acme")];
        let lacks: &[(&str, &str)] = &[("org", "acme"), ("x", "y"), ("user", "")];
        let shared = policy(written, Missing::Shared);
        assert_eq!(key(&shared, lacks), key(&shared, &[("org", "acme")]), "{written:?}");
        assert_ne!(key(&shared, lacks), key(&shared, complete), "{written:?}");

        let skip = policy(written, Missing::Skip);
        assert_eq!(key(&skip, lacks), None);
        assert_eq!(key(&skip, complete), key(&shared, complete));

        let deny = policy(written, Missing::Deny);
        let request = Request::new().with("org", "acme");
        assert_eq!(deny.choose(&request), Ok(Choice::Blocked { rule: 0, reason: Blocked::MissingKey }));
        assert_eq!(key(&deny, complete), key(&shared, complete));
    }
    let none = policy(&[], Missing::Deny);
    assert_eq!(key(&none, &[]), key(&none, &[("user", "alice")]), "one subject for all");
}

#[test]
fn methods_and_paths_in_keys_have_one_spelling() {
    let policy = policy(&["method", "path"], Missing::Shared);
    let of = |method, path| key(&policy, &[("method", method), ("path", path)]);
    assert_eq!(of("get", "/a//b/?c"), of("GET", "/a/%62"));
    assert_eq!(of("GET", ""), of("GET", "/"));
    assert_ne!(of("GET", "/"), of("GET", "/a"));
    assert_ne!(of("GET", "/a"), of("POST", "/a"));
    assert_ne!(of("GET", "/"), key(&policy, &[("method", "GET")]), "the root is not a missing path");
}
