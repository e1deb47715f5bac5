//! Random policies and requests, from few values, so that they meet.

use slidegate::policy::file::{
    Condition, Conditions, File, LimitEntry, Missing, Mode, OverrideEntry, Percent, RuleEntry, Spanned, Test,
};
use slidegate::{Limit, Request};
use slidegate_testkit::cases::Rng;

pub(crate) mod naive;
pub(crate) mod naive_path;

pub(crate) type Attributes = Vec<(&'static str, &'static str)>;

const ORGS: [&str; 4] = ["a", "b", "ab", ""];
const USERS: [&str; 3] = ["alice", "al", "bob"];
const TIERS: [&str; 4] = ["gold", "silver", "lead", ""];
const METHODS: [&str; 4] = ["GET", "get", "POST", "Post"];
const ADDRESSES: [&str; 11] = [
    "10.0.0.1",
    "10.0.0.2",
    "::ffff:10.0.0.1",
    "2001:db8::1",
    "2001:DB8:0::2",
    "2001:db8:1::1",
    "64:ff9b::a00:1",
    "2002:a00:1:2::3",
    "11.0.0.1",
    "",
    "nonsense",
];
const PATHS: [&str; 28] = [
    "/",
    "",
    "/login",
    "//login/?a=/b",
    "/x/../login",
    "/users/1",
    "/users/%31",
    "/users/2",
    "/users/1/posts",
    "/files/a/b",
    "/files/a//b",
    "/%66iles/c",
    "/login;x=1",
    "/;a/login",
    "/x/..;/login",
    "/users/1;v=%2F2",
    "/users/1;%2F../2",
    "/users%2F1",
    "/users\\1",
    "/files/a%5Cb",
    "/files/",
    "/users/./1",
    "/files/a//../b",
    "/login%3Bx/..",
    "/users/%2531",
    "/users/%2531;x",
    "/users/..;/../1;x",
    "/users/1/..;/../posts;x",
];
const TEMPLATES: [&str; 8] = [
    "/login",
    "/users/{id}",
    "/users/{user}",
    "/users/{id}/posts",
    "/files/{*rest}",
    "/{*rest}",
    "/",
    "/{a}",
];
const PREFIXES: [&str; 4] = ["/users", "/", "/files/a", "/users/{id}"];
const NETS: [&str; 6] =
    ["10.0.0.0/8", "10.0.0.1", "2001:db8::/48", "::ffff:10.0.0.2", "0.0.0.0/0", "2001:db8::1"];

pub(crate) fn spot(text: &str) -> Spanned<String> {
    Spanned::of(text.to_owned())
}

fn some(rng: &Rng, of: &[&str]) -> Vec<Spanned<String>> {
    (0..rng.between(1, 2)).map(|_| spot(rng.pick(of))).collect()
}

pub(crate) fn condition(attribute: &str, test: Test) -> Condition {
    Condition { at: Default::default(), attribute: attribute.to_owned(), test }
}

fn random_condition(rng: &Rng) -> Condition {
    match rng.below(9) {
        0 => condition("path", Test::Is(some(rng, &TEMPLATES))),
        1 => condition("path", Test::Prefix(some(rng, &PREFIXES))),
        2 => condition("ip", Test::Is(some(rng, &NETS))),
        3 => condition("method", Test::Is(some(rng, &METHODS))),
        4 => condition("method", Test::Prefix(some(rng, &["g", "PO", ""]))),
        5 => condition("user", Test::Prefix(some(rng, &["al", "b", ""]))),
        6 => condition("id", Test::Is(some(rng, &["1", "2"]))),
        _ => condition("org", Test::Is(some(rng, &ORGS))),
    }
}

pub(crate) fn conditions(rng: &Rng, least: u64) -> Conditions {
    Conditions((0..rng.between(least, 2)).map(|_| random_condition(rng)).collect())
}

fn list(rng: &Rng) -> Vec<Conditions> {
    if rng.one_in(4) { (0..rng.between(1, 2)).map(|_| conditions(rng, 1)).collect() } else { Vec::new() }
}

pub(crate) fn entry(limit: Limit) -> LimitEntry {
    LimitEntry { at: Default::default(), limit: Some(limit), name: None }
}

pub(crate) fn limits(texts: &[&str]) -> Spanned<Vec<LimitEntry>> {
    Spanned::of(texts.iter().map(|text| entry(text.parse().expect("a limit"))).collect())
}

fn some_limits(rng: &Rng) -> Spanned<Vec<LimitEntry>> {
    match rng.below(6) {
        // Many, so that two rules have more than a request may touch.
        0 => Spanned::of(
            (1..=rng.between(14, 20))
                .map(|n| entry(Limit::new(5, std::time::Duration::from_secs(n)).expect("a limit")))
                .collect(),
        ),
        1 => limits(&["10/s", "600/min"]),
        _ => limits(&["5/min"]),
    }
}

fn mode(rng: &Rng) -> Mode {
    match rng.below(6) {
        0 => Mode::Observe,
        1 => Mode::Share(Percent(rng.below(10_001) as u32)),
        2 => Mode::For(vec![conditions(rng, 1)]),
        _ => Mode::Enforce,
    }
}

fn rule(rng: &Rng, index: u64) -> RuleEntry {
    let keys: [&[&str]; 11] = [
        &[],
        &["ip"],
        &["user"],
        &["org", "user"],
        &["org|ip"],
        &["org", "user|ip"],
        &["id"],
        &["rest|id", "org"],
        &["method", "path"],
        &["path"],
        &["user | org", "ip"],
    ];
    let tiers = ["gold", "silver", "lead"].into_iter().filter(|_| rng.one_in(4));
    let overrides = (0..rng.below(3)).filter(|_| rng.one_in(2));
    RuleEntry {
        name: spot(&format!("rule-{index}")),
        matches: conditions(rng, 0),
        key: rng.pick(&keys).iter().map(|part| spot(part)).collect(),
        limits: some_limits(rng),
        missing: Some(rng.pick(&[Missing::Shared, Missing::Skip, Missing::Deny])),
        overrides: overrides
            .map(|_| OverrideEntry { when: conditions(rng, 1), limits: some_limits(rng) })
            .collect(),
        tiers: tiers.map(|tier| (tier.to_owned(), some_limits(rng))).collect(),
        allow: list(rng),
        deny: if rng.one_in(2) { list(rng) } else { Vec::new() },
        mode: mode(rng),
        ..RuleEntry::default()
    }
}

pub(crate) fn file(rng: &Rng) -> File {
    let rules = (0..rng.below(7)).map(|index| rule(rng, index)).collect();
    File { ipv6_prefix: Spanned::of(rng.pick(&[64, 48, 128, 1])), rules, ..File::default() }
}

pub(crate) fn attributes(rng: &Rng) -> Attributes {
    let mut attributes = Vec::new();
    let all: [(&str, &[&'static str]); 7] = [
        ("org", &ORGS),
        ("user", &USERS),
        ("tier", &TIERS),
        ("method", &METHODS),
        ("ip", &ADDRESSES),
        ("path", &PATHS),
        ("id", &["1", "3"]),
    ];
    for (name, values) in all {
        if !rng.one_in(4) {
            attributes.push((name, rng.pick(values)));
        }
    }
    attributes
}

pub(crate) fn request(attributes: &[(&'static str, &'static str)]) -> Request<'static> {
    attributes.iter().fold(Request::new(), |request, (name, value)| request.with(*name, *value))
}

/// A file of one rule.
pub(crate) fn file_of(rule: RuleEntry) -> File {
    File { rules: vec![rule], ..File::default() }
}
