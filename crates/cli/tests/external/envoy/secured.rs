//! TLS between Envoy and the service, with certificates of both, and a token.

use std::fs;

use slidegate_testkit::certificates::{Authority, Usage};
use tempfile::TempDir;

use super::SEARCH;
use super::client::Client;
use super::setup::Setup;
use super::site::Site;

const CLUSTER: &str = "- name: slidegate";
const ANY: &str = "failure_mode_deny: false";
const NONE: &str = "failure_mode_deny: true";

/// A folder with the files that the page names.
fn files(clients: &Authority) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let servers = Authority::new("authority");
    let (server, client) = (servers.sign(Usage::Server, 1), clients.sign(Usage::Client, 2));
    let both = format!("{}{}", servers.certificate, Authority::new("another").certificate);
    let files = [
        ("ca.pem", both),
        ("server.pem", server.certificate),
        ("server.key", server.key),
        ("clients.pem", clients.certificate.clone()),
        ("client.pem", client.certificate),
        ("client.key", client.key),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("the folder takes files");
    }
    folder
}

/// Whoever is refused gets no answer, so requests are refused too.
fn with_tls() -> Setup {
    let page = Setup::of_page().with_policy_block("grpc: 127.0.0.1:8081");
    page.with_block(CLUSTER, "transport_socket").envoy(ANY, NONE)
}

#[test]
fn each_knows_the_other_by_its_certificate() {
    let authority = Authority::new("clients");
    let site = Site::of(&with_tls(), files(&authority));
    site.exhaust(Client::FIRST);
    assert_eq!(site.ask(Client::FIRST, &SEARCH).status, 429);
}

#[test]
fn a_stranger_is_not_answered() {
    let folder = files(&Authority::new("clients"));
    fs::write(folder.path().join("clients.pem"), Authority::new("others").certificate).expect("a file");
    let site = Site::of(&with_tls(), folder);
    assert_eq!(site.ask(Client::FIRST, &SEARCH).status, 500);
    assert!(site.proxy.operator("/stats").contains("cluster.slidegate.ssl.connection_error"));
}

#[test]
fn a_token_is_required() {
    let page = Setup::of_page().envoy(ANY, NONE).policy("  grpc:", "  token: correct-horse-battery\n  grpc:");
    let with = page.clone().with_block("grpc_service:", "authorization");
    let wrong = with.clone().envoy("correct-horse-battery", "wrong-horse-battery");
    for (setup, status) in [(page, 500), (with, 200), (wrong, 500)] {
        let site = Site::of(&setup, TempDir::new().expect("a folder"));
        assert_eq!(site.ask(Client::FIRST, &SEARCH).status, status, "{}", setup.envoy);
    }
}
