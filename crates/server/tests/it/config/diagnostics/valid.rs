//! Good files give the values that stand in them.

use std::time::Duration;

use slidegate::policy::decode;
use slidegate::policy::file::{Conditions, File, LimitEntry, Missing, Mode, Percent, Spanned, Test};
use slidegate::{Limit, OnStoreError, Resolution};
use slidegate_server::config::{
    ConnectionLimits, HeaderStyle, ResetStyle, ServerSettings, Settings, StoreKind, TlsSettings,
};

use super::parse;
use super::text_mutations::EVERYTHING;

fn file(text: &str) -> File {
    File::parse("policy.yaml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn settings(text: &str) -> Settings {
    parse(text).unwrap_or_else(|errors| panic!("{errors}")).settings
}

fn texts(spots: &[Spanned<String>]) -> Vec<&str> {
    spots.iter().map(|spot| spot.value.as_deref().expect("it is right")).collect()
}

fn limits(spot: &Spanned<Vec<LimitEntry>>) -> Vec<Limit> {
    let entries = spot.value.as_ref().expect("they are right");
    entries.iter().map(|entry| entry.limit.expect("it is right")).collect()
}

/// `attribute=value,value` or `attribute^prefix`.
fn conditions(conditions: &Conditions) -> Vec<String> {
    let one = |condition: &slidegate::policy::file::Condition| {
        let (sign, values) = match &condition.test {
            Test::Is(values) => ('=', values),
            Test::Prefix(values) => ('^', values),
        };
        format!("{}{sign}{}", condition.attribute, texts(values).join(","))
    };
    conditions.0.iter().map(one).collect()
}

#[test]
fn what_is_left_out_has_its_default() {
    let file = file("version: 1");
    assert_eq!((file.rules.len(), file.ipv6_prefix.value), (0, Some(64)));
    assert_eq!(settings("version: 1"), Settings::default());

    let server = ServerSettings::default();
    assert_eq!(server.http.to_string(), "127.0.0.1:8080");
    let trusted = server.trusted_proxies.iter().map(ToString::to_string);
    assert_eq!(trusted.collect::<Vec<_>>(), ["127.0.0.0/8", "::1/128"]);
    assert_eq!((server.max_wait, server.max_waiting), (Duration::from_secs(30), 10_000));
}

#[test]
fn every_field_is_read() {
    let Settings { server, store, .. } = settings(EVERYTHING);
    assert_eq!(server.http.to_string(), "[::1]:9000");
    let trusted = server.trusted_proxies.iter().map(ToString::to_string);
    assert_eq!(trusted.collect::<Vec<_>>(), ["10.0.0.0/8", "192.0.2.7/32", "fd00::1/128"]);
    assert!(server.attributes.iter().any(|(name, header)| &**name == "org" && header == "x-org"));
    assert_eq!((server.headers, server.reset), (HeaderStyle::XRateLimit, ResetStyle::Epoch));
    assert_eq!((server.retry_jitter, server.max_wait), (Percent(1_250), Duration::from_secs(5)));
    assert_eq!((server.ad_hoc_limits, server.max_waiting), (Some(false), 5_000));
    assert_eq!(server.token.as_deref(), Some("a token for checks"));
    let admin = server.admin.expect("it is there");
    assert_eq!(admin.listen.to_string(), "0.0.0.0:8090");
    assert_eq!(admin.token.as_deref(), Some("another token of the admin"));
    let files = |tls: &TlsSettings| {
        let named = [Some(&tls.certificate), Some(&tls.key), tls.client_ca.as_ref()];
        named.into_iter().flatten().cloned().collect::<Vec<_>>()
    };
    let [grpc, resp] = [&server.grpc, &server.resp].map(|listener| listener.as_ref().expect("it is there"));
    assert_eq!([grpc, resp].map(|listener| listener.listen.to_string()), ["[::]:8081", "0.0.0.0:6380"]);
    assert_eq!(grpc.tls.as_ref().map(files).expect("it is there"), ["g.pem", "g.key"]);
    assert_eq!(admin.tls.as_ref().map(files).expect("it is there"), ["a.pem", "a.key"]);
    assert_eq!(
        server.tls.as_ref().map(files).expect("it is there"),
        ["server.pem", "server.key", "clients.pem"]
    );
    let ConnectionLimits { max, max_per_address, max_requests, head, body, write, idle, .. } =
        server.connections;
    assert_eq!((max, max_per_address, max_requests), (20_000, 100, 1_000));
    assert_eq!([head, body, write, idle], [3, 4, 5, 60].map(Duration::from_secs));
    let ConnectionLimits { max_head_bytes, max_body_bytes, ipv6_prefix, has_max, .. } = server.connections;
    assert_eq!((max_head_bytes, max_body_bytes, ipv6_prefix, has_max), (16 << 10, 1 << 20, 56, true));
    assert_eq!([server.shutdown_delay, server.shutdown_timeout], [5, 20].map(Duration::from_secs));
    assert_eq!((store.kind, store.max_memory), (StoreKind::Redis, 1 << 30));
    let sentinel = store.sentinel.expect("it is there");
    assert_eq!((&*sentinel.nodes[0], &*sentinel.name), ("redis://s:26379", "main"));
    assert_eq!((store.timeout, store.deny_cache), (Duration::from_millis(20), Duration::ZERO));
    assert_eq!((store.instances, store.prefix.as_deref()), (3, Some("gate:")));
    let file = file(EVERYTHING);
    assert!(file.paths.ignore_case);
    assert_eq!(file.ipv6_prefix.value, Some(56));
}

#[test]
fn every_field_of_a_rule_is_read() -> Result<(), Box<dyn std::error::Error>> {
    let file = file(EVERYTHING);
    let [search, uploads, plain] = &file.rules[..] else { panic!("three rules") };
    assert_eq!(search.name.value.as_deref(), Some("search"));
    assert_eq!(
        conditions(&search.matches),
        ["method=GET,HEAD", "path=/v1/search/{*rest}", "tier=1", "agent^curl,wget"]
    );
    assert_eq!(texts(&search.key), ["org", "api_key|ip"]);
    let minute = std::time::Duration::from_secs(60);
    let per_minute: Limit = "600/min".parse()?;
    let gcra = Limit::new(1_000_000, minute * 60)?.gcra(50)?.named("steady");
    let fine = Limit::new(500, minute)?.resolution(Resolution::Ms(10))?;
    assert_eq!(limits(&search.limits), ["10/s".parse()?, per_minute.counter()?, gcra, fine.named("fine")]);
    assert_eq!(search.missing, Some(Missing::Deny));
    assert_eq!(conditions(&search.overrides[0].when), ["org=acme"]);
    assert_eq!(limits(&search.overrides[0].limits), ["50/s".parse()?]);
    assert_eq!(limits(&search.tiers["enterprise"]), ["200/s".parse()?, Limit::new(7, minute)?.fixed()?]);
    assert_eq!(search.allow.iter().map(conditions).collect::<Vec<_>>(), [["ip=10.0.0.0/8"]]);
    assert_eq!(search.deny.iter().map(conditions).collect::<Vec<_>>(), [["user=mallory"], ["blocked=true"]]);
    assert_eq!((&search.mode, search.on_store_error), (&Mode::Share(Percent(2_500)), OnStoreError::Allow));
    assert!(!search.refundable);

    assert_eq!(limits(&uploads.limits), [Limit::in_flight(20, minute / 2)?.named("slots")]);
    let Mode::For(some) = &uploads.mode else { panic!("{:?}", uploads.mode) };
    assert_eq!(some.iter().map(conditions).collect::<Vec<_>>(), [["org=acme"]]);
    assert_eq!((&plain.mode, plain.refundable), (&Mode::Observe, true));
    Ok(())
}

#[test]
fn places_are_those_of_the_file() {
    let file = file(EVERYTHING);
    let at = |at: slidegate::policy::file::Span| &EVERYTHING[at.start..at.start + at.len];
    assert_eq!(at(file.rules[0].name.at), "search");
    assert_eq!(at(file.rules[0].matches.0[0].at), "method");
    let entries = file.rules[0].limits.value.as_ref().expect("they are right");
    assert_eq!(at(entries[1].at), "{ quota: 600, window: 1m, algorithm: counter }");
}

#[test]
fn yaml_means_what_people_mean() {
    let rule = |fields: &str| {
        let text = format!("version: 1\nrules:\n  - name: a\n    limits: [5/min]\n    {fields}\n");
        file(&text).rules.remove(0)
    };
    let all =
        rule("match: { a: 1, b: yes, c: on, d: 0x10, e: 1.50, f: null-ish, g: ~x, h: '~', i: '', j: false }");
    let expected = ["a=1", "b=yes", "c=on", "d=0x10", "e=1.50", "f=null-ish", "g=~x", "h=~", "i=", "j=false"];
    assert_eq!(conditions(&all.matches), expected);
    for quota in ["1000000", "1_000_000", "\"1000000\"", "'1_000_000'"] {
        let rule = rule(&format!("tiers: {{ gold: [{{ quota: {quota}, window: hour }}] }}"));
        assert_eq!(limits(&rule.tiers["gold"])[0].quota(), 1_000_000);
    }
    for (share, hundredths) in
        [("0%", 0), ("0.5%", 50), ("0.05%", 5), ("99.99%", 9_999), ("100%", 10_000), ("100.0%", 10_000)]
    {
        assert_eq!(rule(&format!("mode: {{ enforce: {share} }}")).mode, Mode::Share(Percent(hundredths)));
    }
    for (size, bytes) in
        [("1", 1), ("64KiB", 65_536), ("1_024 KiB", 1 << 20), ("2GiB", 2 << 30), ("\"1TiB\"", 1 << 40)]
    {
        let text = format!("version: 1\nstore: {{ max_memory: {size} }}");
        assert_eq!(settings(&text).store.max_memory, bytes);
    }
    for (time, ms) in [
        ("0", 0),
        ("0ms", 0),
        ("50ms", 50),
        ("1m", 60_000),
        ("1min", 60_000),
        ("2h", 7_200_000),
        ("1day", 86_400_000),
    ] {
        let text = format!("version: 1\nserver: {{ max_wait: {time} }}");
        assert_eq!(settings(&text).server.max_wait, Duration::from_millis(ms));
    }
}

#[test]
fn aliases_byte_order_marks_and_any_ends_of_lines_are_fine() {
    let text =
        "version: 1\nrules:\n  - name: a\n    limits: &usual [5/min]\n  - name: b\n    limits: *usual\n";
    let read = file(text);
    assert_eq!(limits(&read.rules[0].limits), limits(&read.rules[1].limits));
    for other in [
        format!("\u{feff}{text}"),
        text.replace('\n', "\r\n"),
        format!("---\n{text}..."),
        format!("# x\n{text}"),
    ] {
        assert_eq!(file(&other).rules.len(), 2);
        assert!(parse(&other).is_ok());
        assert_eq!(decode("policy.yaml", other.as_bytes()).expect("it is UTF-8"), other);
    }
}

#[test]
fn secrets_are_not_printed() {
    let printed = format!("{:?}", settings(EVERYTHING));
    for secret in ["a token", "sixteen characters", "redis://s"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}
