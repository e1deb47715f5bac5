//! Ways to a server: TLS, passwords, databases, prefixes, sockets; and what is said about one that
//! is not set up well.

use std::time::Duration;

use slidegate::store::redis::{ClientCertificate, RedisConfig, RedisError};
use slidegate::{Limit, Redis};
use slidegate_testkit::certificates::Pem;
use slidegate_testkit::servers::{ClientCertificates, Flavour, Guarded, RedisServer, RespReply, TlsServer};

use crate::redis::stores::{direct, eventually, keys, patient};

/// Two checks that count.
async fn works(config: &RedisConfig) -> Result<(), RedisError> {
    let limiter = direct(&Redis::new(config), [Limit::per_day(10)]);
    for remaining in [9, 8] {
        assert_eq!(limiter.check("key").await?.remaining(), Some(remaining));
    }
    Ok(())
}

/// Why a server cannot be reached.
async fn reason(config: &RedisConfig) -> String {
    match works(config).await.expect_err("no way in") {
        RedisError::Unreachable(why) => why,
        other => panic!("reached: {other}"),
    }
}

fn over_tls(server: &TlsServer, ca: &str, client: Option<&Pem>) -> RedisConfig {
    let config = patient(&server.url()).root_certificate(ca.as_bytes()).expect("a certificate");
    let Some(pem) = client else { return config };
    let certificate = ClientCertificate { chain: pem.certificate.as_bytes(), key: pem.key.as_bytes() };
    config.client_certificate(certificate).expect("a certificate")
}

#[tokio::test]
async fn tls_with_an_authority() {
    let server = TlsServer::start(ClientCertificates::NotRequired);
    works(&over_tls(&server, &server.ca, None)).await.expect("decisions");
    let by_name = server.url().replace("127.0.0.1", "localhost");
    server.server().must(&["FLUSHALL"]);
    let config = patient(&by_name).root_certificate(server.ca.as_bytes()).expect("a certificate");
    works(&config).await.expect("decisions");
}

#[tokio::test]
async fn a_server_of_another_authority_is_not_trusted() {
    let server = TlsServer::start(ClientCertificates::NotRequired);
    let why = reason(&over_tls(&server, &TlsServer::stranger(), None)).await;
    assert!(why.contains("certificate"), "{why}");
    let why = reason(&patient(&server.url())).await;
    assert!(why.contains("certificate"), "the system does not know it either: {why}");
    assert_eq!(keys(server.server()), [""; 0]);
}

#[tokio::test]
async fn tls_with_certificates_of_clients() {
    let server = TlsServer::start(ClientCertificates::Required);
    works(&over_tls(&server, &server.ca, Some(&server.client))).await.expect("decisions");
    let why = reason(&over_tls(&server, &server.ca, None)).await;
    assert!(why.to_lowercase().contains("certificate"), "{why}");
    let stranger = TlsServer::start(ClientCertificates::NotRequired);
    let why = reason(&over_tls(&server, &server.ca, Some(&stranger.client))).await;
    assert!(why.contains(&server.port().to_string()), "{why}");
}

/// A plain server waits for the rest of what it takes for a command, so that only time tells.
#[tokio::test]
async fn the_wrong_kind_of_port_is_named() {
    let server = TlsServer::start(ClientCertificates::NotRequired);
    let with = server.server().url().replace("redis://", "rediss://");
    let why = reason(&patient(&with).connect_timeout(Duration::from_millis(200))).await;
    assert!(why.contains(&server.server().port().to_string()), "{why}");
    let without = server.url().replace("rediss://", "redis://");
    let why = reason(&patient(&without)).await;
    assert!(why.contains(&server.port().to_string()), "{why}");
}

#[tokio::test]
async fn users_and_passwords() {
    for flavour in Flavour::all() {
        let guarded = Guarded::start(flavour, "~* +@all");
        works(&patient(&guarded.user_url())).await.expect("decisions");
        guarded.server().must(&["FLUSHALL"]);
        works(&patient(&guarded.server().url())).await.expect("decisions, with a password alone");
        let wrong = guarded.user_url().replace(Guarded::PASSWORD, "wrong-password");
        let why = reason(&patient(&wrong)).await;
        assert!(why.to_lowercase().contains("password") || why.contains("WRONGPASS"), "{flavour:?}: {why}");
        assert!(!why.contains("wrong-password"), "{flavour:?}: {why}");
    }
}

/// Who forgot the password reads that one is needed.
#[tokio::test]
async fn a_missing_password_is_an_error() {
    for flavour in Flavour::all() {
        let guarded = Guarded::start(flavour, "~* +@all");
        let error = works(&patient(&guarded.anonymous_url())).await.expect_err("no way in").to_string();
        assert!(error.contains("NOAUTH") || error.contains("Authentication"), "{flavour:?}: {error}");
    }
}

#[tokio::test]
async fn a_database_and_a_prefix_keep_stores_apart() {
    let server = RedisServer::start(Flavour::Redis70);
    works(&patient(&format!("{}/3", server.url()))).await.expect("decisions");
    assert_eq!(server.command(&["DBSIZE"]), RespReply::Int(0), "nothing in database 0");
    assert!(server.info("db3").is_some_and(|text| text.starts_with("keys=1,")));
    works(&patient(&server.url()).prefix("a:").expect("a prefix")).await.expect("decisions");
    works(&patient(&server.url()).prefix("").expect("a prefix")).await.expect("decisions");
    let keys = keys(&server);
    assert!(keys.len() == 2 && keys[0].starts_with("a:{") && keys[1].starts_with('{'), "{keys:?}");
}

#[tokio::test]
async fn a_missing_database_is_an_error() {
    let server = RedisServer::start(Flavour::Redis70);
    let error = works(&patient(&format!("{}/99", server.url()))).await.expect_err("16 databases").to_string();
    assert!(error.contains("database") || error.contains("DB index"), "{error}");
}

#[tokio::test]
async fn a_socket_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("redis.sock");
    let path = path.to_str().expect("a path that is text");
    let _server = RedisServer::start_with(Flavour::Redis70, &["--unixsocket", path]);
    works(&patient(&format!("unix://{path}"))).await.expect("decisions");
}

#[tokio::test]
async fn a_server_that_drops_keys_is_warned_about() {
    for flavour in Flavour::all() {
        let server = RedisServer::start_with(flavour, &["--maxmemory-policy", "allkeys-lru"]);
        let store = Redis::new(&patient(&server.url()));
        assert_eq!(store.warnings(), [], "nothing is known before the first request");
        let _ = direct(&store, [Limit::per_day(1)]).check("key").await.expect("a decision");
        eventually("a warning", async || !store.warnings().is_empty()).await;
        let warning = store.warnings()[0].to_string();
        assert!(warning.contains("noeviction") && warning.contains("allkeys-lru"), "{warning}");
    }
}

/// Most who rent out servers forbid CONFIG; INFO tells as well.
#[tokio::test]
async fn a_server_that_drops_keys_is_warned_about_without_config() {
    let guarded = Guarded::start(Flavour::Redis70, "~* +@all -config");
    guarded.server().must(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    let store = Redis::new(&patient(&guarded.user_url()));
    let _ = direct(&store, [Limit::per_day(1)]).check("key").await.expect("a decision");
    eventually("a warning", async || !store.warnings().is_empty()).await;
    assert!(store.warnings()[0].to_string().contains("volatile-ttl"));
}
