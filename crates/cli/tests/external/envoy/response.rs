//! What Envoy makes of the numbers and names in an answer, and of health.

use tempfile::TempDir;

use super::SEARCH;
use super::client::Client;
use super::setup::Setup;
use super::site::Site;

/// Envoy makes these headers itself, from the limit, what is left of it, and when it is all there
/// again.
#[test]
fn envoy_tells_clients_by_itself() {
    let setup = Setup::of_page()
        .with_block("domain: shop", "enable_x_ratelimit_headers")
        .with_policy_block("http: 127.0.0.1:8080");
    let site = Site::of(&setup, TempDir::new().expect("a folder"));
    for (status, left) in [(200, "2"), (200, "1"), (200, "0"), (429, "0")] {
        let answer = site.ask(Client::FIRST, &SEARCH);
        let header = |name: &str| answer.header(name).unwrap_or_else(|| panic!("{name}: {answer:?}"));
        assert_eq!((answer.status, header("x-ratelimit-remaining")), (status, left), "{answer:?}");
        assert_eq!(header("x-ratelimit-limit"), r#"3, 3;w=60;name="search-3/min""#);
        let reset_s: u64 = header("x-ratelimit-reset").parse().expect("seconds");
        assert!((1..=60).contains(&reset_s), "{answer:?}");
        assert_eq!(answer.header("ratelimit"), None, "one style is enough");
    }
}

#[test]
fn the_log_names_the_rule_that_refused() {
    let setup = Setup::of_page().with_block("stat_prefix: shop", "access_log");
    let mut site = Site::of(&setup, TempDir::new().expect("a folder"));
    site.exhaust(Client::FIRST);
    assert_eq!(site.ask(Client::FIRST, &SEARCH).status, 429);
    let lines = site.proxy.wait_for(|proxy| {
        let lines: Vec<String> = proxy.log().lines().filter_map(logged).collect();
        (lines.len() == 4).then_some(lines)
    });
    assert_eq!(lines[..3], ["200 -", "200 -", "200 -"]);
    assert_eq!(lines[3], r#"429 [{"limit":"3/min","rule":"search"}]"#);
}

/// A line of the access log.
fn logged(line: &str) -> Option<String> {
    line.strip_prefix("asked: ").map(str::to_owned)
}

#[test]
fn envoy_asks_for_health() {
    let setup = Setup::of_page().with_block("- name: slidegate", "grpc_health_check");
    let mut site = Site::of(&setup, TempDir::new().expect("a folder"));
    let grpc = site.service.grpc();
    site.proxy.wait_for(|proxy| {
        let healthy = format!("slidegate::{grpc}::health_flags::healthy");
        let checked = proxy.operator("/stats?filter=slidegate.health_check.success");
        let successes = checked.lines().find_map(|line| line.split_once(": ")?.1.parse::<u64>().ok());
        (successes > Some(0) && proxy.operator("/clusters").contains(&healthy)).then_some(())
    });
    site.exhaust(Client::FIRST);
    site.service.stop();
    site.proxy.wait_for(|proxy| {
        let flags = format!("slidegate::{grpc}::health_flags::/failed_active_hc");
        proxy.operator("/clusters").contains(&flags).then_some(())
    });
}
