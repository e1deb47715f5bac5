//! Which items the descriptors of a call are.

use super::*;
use crate::protocols::rls::proto::RateLimitOverride;

fn entries(text: &str) -> Vec<DescriptorEntry> {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').expect("key=value"));
    pairs.map(|(key, value)| DescriptorEntry { key: key.to_owned(), value: value.into() }).collect()
}

fn descriptor(text: &str) -> RateLimitDescriptor {
    RateLimitDescriptor { entries: entries(text), ..RateLimitDescriptor::default() }
}

fn call(descriptors: impl IntoIterator<Item = RateLimitDescriptor>) -> RateLimitRequest {
    RateLimitRequest {
        domain: "shop".to_owned(),
        descriptors: descriptors.into_iter().collect(),
        hits_addend: 0,
    }
}

/// Item of one descriptor: attributes, units, and whether they are charged or given back.
fn render(item: &BatchItem<'_>) -> String {
    let attributes = |request: &Request<'_>| {
        request.attributes().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    match item {
        BatchItem::Check(request) => format!("{} costs {}", attributes(request), request.requested_cost()),
        BatchItem::GiveBack { request, units } => format!("{} gives {units}", attributes(request)),
        BatchItem::Limit { limit, cost, .. } => format!("{limit} costs {cost}"),
        BatchItem::Nothing => "nothing".to_owned(),
        BatchItem::Refuse => "refused".to_owned(),
    }
}

fn one(call: &RateLimitRequest) -> String {
    let batch = DescriptorBatch::new(call, true).expect("items");
    let [item] = &*batch.items else { panic!("{batch:?}") };
    render(item)
}

#[test]
fn entries_are_attributes() {
    let rows = [
        ("", "domain=shop descriptor="),
        ("user=alice", "domain=shop descriptor=user user=alice"),
        ("user=alice path=/a", "domain=shop descriptor=user,path user=alice path=/a"),
        ("user=", "domain=shop descriptor=user user="),
        // Two of one name are refused later, where a rule looks at it; `domain` is always the
        // call's.
        ("user=alice user=bob", "domain=shop descriptor=user,user user=alice user=bob"),
        ("domain=other", "domain=shop descriptor=domain domain=other"),
        ("req.method=GET", "domain=shop descriptor=req.method req.method=GET method=GET"),
        ("req.method=GET method=PUT", "domain=shop descriptor=req.method,method req.method=GET method=PUT"),
        ("req.domain=x req.=y", "domain=shop descriptor=req.domain,req. req.domain=x req.=y"),
        (
            "remote_address=10.0.0.1",
            "domain=shop descriptor=remote_address remote_address=10.0.0.1 ip=10.0.0.1",
        ),
        (
            "remote_address=10.0.0.1 ip=10.0.0.2",
            "domain=shop descriptor=remote_address,ip remote_address=10.0.0.1 ip=10.0.0.2",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(one(&call([descriptor(text)])), format!("{expected} costs 1"), "{text}");
    }
}

#[test]
fn hits_are_the_descriptors_over_the_calls() {
    let rows = [
        ((0, None, false), "costs 1"),
        ((3, None, false), "costs 3"),
        ((u32::MAX, None, false), "costs 4294967295"),
        ((3, Some(0), false), "costs 0"),
        ((0, Some(0), false), "costs 0"),
        ((3, Some(7), false), "costs 7"),
        ((0, Some(u64::MAX), false), "costs 18446744073709551615"),
        ((0, None, true), "gives 1"),
        ((3, None, true), "gives 3"),
        ((3, Some(7), true), "gives 7"),
        ((3, Some(0), true), "gives 0"),
    ];
    for ((hits, own, is_negative_hits), expected) in rows {
        let descriptor = RateLimitDescriptor { hits_addend: own, is_negative_hits, ..descriptor("a=b") };
        let call = RateLimitRequest { hits_addend: hits, ..call([descriptor]) };
        assert_eq!(one(&call), format!("domain=shop descriptor=a a=b {expected}"));
    }
}

#[test]
fn a_limit_that_comes_along_takes_the_place_of_the_rules() {
    let with = |requests_per_unit, unit, is_negative_hits| RateLimitDescriptor {
        limit: Some(RateLimitOverride { requests_per_unit, unit }),
        is_negative_hits,
        ..descriptor("a=b")
    };
    let rows = [
        (with(5, 2, false), "5/min costs 1"),
        (with(5, 5, false), "5/30day costs 1"),
        (with(5, 6, false), "5/365day costs 1"),
        (with(5, 7, false), "5/7day costs 1"),
        (with(5, 2, true), "5/min costs 0"),
        (with(0, 2, false), "refused"),
        (with(0, 2, true), "nothing"),
        (RateLimitDescriptor { hits_addend: Some(0), ..with(0, 2, false) }, "nothing"),
    ];
    for (descriptor, expected) in rows {
        assert_eq!(one(&call([descriptor])), expected);
    }
    let none = DescriptorBatch::new(&call([with(5, 0, false)]), true).map(drop);
    assert!(matches!(&none, Err(Failure::Invalid(why)) if why.contains("unit")), "{none:?}");
}

/// No value can make two descriptors one.
#[test]
fn keys_of_limits_that_come_along_are_all_different() {
    let texts = ["", "a=b", "a=b c=d", "c=d a=b", "ab=", "a=bc", "a=bc=d", "a=b c=d e=f", "shop=a b=c"];
    let domains = ["shop", "sho", "shopa", "a"];
    let all: Vec<Vec<DescriptorEntry>> = texts.map(entries).into();
    let keys: Vec<Key<'_>> =
        domains.iter().flat_map(|domain| all.iter().map(move |entries| key(domain, entries))).collect();
    for (at, one) in keys.iter().enumerate() {
        assert!(keys[..at].iter().all(|other| other != one), "{one:?}");
    }
}

#[test]
fn invalid_calls_are_errors() {
    let many = |count: usize| call((0..count).map(|_| descriptor("a=b")));
    let wide = call([RateLimitDescriptor { entries: entries(&"a=b ".repeat(63)), ..descriptor("") }]);
    let rows = [
        (RateLimitRequest { domain: String::new(), ..many(1) }, "the domain is empty"),
        (RateLimitRequest { domain: "x".repeat(4097), ..many(1) }, "value of `domain` too long"),
        (many(0), "no descriptors"),
        (many(MAX_DESCRIPTORS + 1), "at most 128 descriptors, not 129"),
        (wide, "too many attributes: 65, the maximum is 64"),
        (call([descriptor("=b")]), "empty attribute name"),
    ];
    for (call, expected) in rows {
        let Err(Failure::Invalid(why)) = DescriptorBatch::new(&call, true).map(drop) else {
            panic!("{expected}")
        };
        assert!(why.contains(expected), "{why}");
    }
    let most = many(MAX_DESCRIPTORS);
    assert_eq!(DescriptorBatch::new(&most, true).map(|batch| batch.items.len()), Ok(MAX_DESCRIPTORS));
}

/// A client chooses values: one that is not judged must not be a way around.
#[test]
fn a_value_that_is_too_long_is_refused() {
    let long = |key: &str, value: String| call([descriptor("b=c"), descriptor(&format!("{key}={value}"))]);
    let render = |call: &RateLimitRequest| {
        let batch = DescriptorBatch::new(call, true).expect("items");
        (render(&batch.items[1]), batch.unfit.join(" "))
    };
    let (refused, why) = render(&long("a", "x".repeat(4097)));
    assert_eq!(refused, "refused");
    assert!(why.contains("value of `a` too long: 4097 bytes, the maximum is 4096"), "{why}");
    assert_eq!(render(&long("a", "x".repeat(4096))).1, "");
    for key in ["path", "req.path"] {
        let (fits, why) = render(&long(key, format!("/search?q={}", "x".repeat(9_000))));
        assert!(fits.ends_with("path=/search costs 1"), "{fits}");
        assert_eq!(why, "");
        assert_eq!(render(&long(key, format!("/{}?q", "x".repeat(4096)))).0, "refused");
        assert!(render(&long(key, "/search?q=x".to_owned())).0.ends_with("path=/search?q=x costs 1"));
    }
}

/// Headers are bytes, and Envoy passes them on as they are.
#[test]
fn a_value_that_is_no_text_is_judged_too() {
    let entry = |value: &[u8]| DescriptorEntry { key: "user".to_owned(), value: value.into() };
    let raw = |value: &[u8]| call([RateLimitDescriptor { entries: vec![entry(value)], ..descriptor("") }]);
    assert_eq!(one(&raw(b"al\xffice")), "domain=shop descriptor=user user=al\u{fffd}ice costs 1");
    assert_eq!(one(&raw("\u{e9}".as_bytes())), "domain=shop descriptor=user user=\u{e9} costs 1");
    assert_ne!(key("shop", &[entry(b"\xff")]), key("shop", &[entry(b"\xfe")]));
}

#[test]
fn an_address_that_is_none_is_refused_where_a_rule_looks_at_it() {
    let rules = "version: 1\nrules: [{ name: a, match: { b: c }, key: [ip], limits: [1/s] }]";
    let policy = Policy::parse("test.yaml", rules).expect("a policy");
    let call =
        call([descriptor("b=c ip=10.0.0.1"), descriptor("b=c ip=nowhere"), descriptor("b=d ip=nowhere")]);
    let mut batch = DescriptorBatch::new(&call, true).expect("items");
    assert_eq!(batch.unfit.len(), 0);
    batch.refuse_unfit(
        &policy,
        &policy.choose(&request("", &entries("b=c ip=nowhere"))).expect_err("no address"),
    );
    let refused: Vec<bool> = batch.items.iter().map(|one| matches!(one, BatchItem::Refuse)).collect();
    assert_eq!(refused, [false, true, false]);
    assert!(batch.unfit[0].contains("invalid IP address `nowhere`"), "{:?}", batch.unfit);
}

/// A path that no rule can judge is the client's: it must not make the call fail.
#[test]
fn a_path_with_too_many_readings_is_refused() {
    let rules = "version: 1\nrules: [{ name: a, key: [path], limits: [1/s] }]";
    let policy = Policy::parse("test.yaml", rules).expect("a policy");
    let (many, ambiguous) = ("path=/a;b%3Bc%2Fd\\e%5Cf/%67", "path=/a//../b");
    let call = call([descriptor("path=/a"), descriptor(many), descriptor(ambiguous)]);
    for odd in [many, ambiguous] {
        let mut batch = DescriptorBatch::new(&call, true).expect("items");
        batch.refuse_unfit(&policy, &policy.choose(&request("", &entries(odd))).expect_err("unreadable"));
        let refused: Vec<bool> = batch.items.iter().map(|one| matches!(one, BatchItem::Refuse)).collect();
        assert_eq!(refused, [false, true, true]);
    }
}
