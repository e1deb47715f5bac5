//! The servers that other tests start: what they promise, seen once by itself.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use redis::{ClientTlsConfig, TlsCertificates};

use slidegate_testkit::certificates::Pem;
use slidegate_testkit::servers::{
    self, AfterDrop, ClientCertificates, Cluster, Flavour, Guarded, Proxy, RedisServer, RespReply, Sentinels,
    TlsServer,
};

fn simple(text: &str) -> RespReply {
    RespReply::Simple(text.to_owned())
}

fn bulk(text: &str) -> RespReply {
    RespReply::Bulk(Some(text.as_bytes().to_vec()))
}

#[test]
fn every_flavour_answers_and_tells_its_version() {
    let versions = Flavour::all().map(|flavour| {
        let server = RedisServer::start(flavour);
        assert_eq!(server.command(&["PING"]), simple("PONG"));
        assert_eq!(server.command(&["GET", "nothing"]), RespReply::Bulk(None));
        assert_eq!(server.command(&["EVAL", "return {1, 'two', {3}}", "0"]).items().len(), 3);
        assert!(matches!(server.command(&["NOSUCH"]), RespReply::Error(text) if text.starts_with("ERR")));
        server.info("valkey_version").or_else(|| server.info("redis_version")).expect("a version")
    });
    for (version, begins) in versions.iter().zip(["7.0.", "6.2.", "9."]) {
        assert!(version.starts_with(begins), "{versions:?}");
    }
}

#[test]
fn a_server_stops_goes_on_dies_and_comes_back_on_its_port() {
    let mut server = RedisServer::start(Flavour::Redis70);
    server.must(&["SET", "key", "1"]);
    server.stop();
    let mut waiting =
        TcpStream::connect(("127.0.0.1", server.port())).expect("the system still takes connections");
    waiting.write_all(b"GET key\r\n").expect("to write");
    waiting.set_read_timeout(Some(Duration::from_millis(50))).expect("a time-out");
    assert!(waiting.read(&mut [0; 16]).is_err(), "it stands still");
    server.resume();
    waiting.set_read_timeout(None).expect("no time-out");
    let mut reply = [0; 7];
    waiting.read_exact(&mut reply).expect("a reply");
    assert_eq!(&reply, b"$1\r\n1\r\n", "it goes on with what arrived meanwhile");
    server.kill();
    assert!(server.try_command(&["PING"]).is_err());
    let url = server.url();
    server.restart();
    assert_eq!((server.command(&["GET", "key"]), server.url()), (RespReply::Bulk(None), url));
}

#[test]
fn a_server_is_gone_with_its_variable_even_if_stopped() {
    let server = RedisServer::start(Flavour::Valkey9);
    let port = server.port();
    server.stop();
    drop(server);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_guarded_server_asks_who_is_there() {
    for flavour in Flavour::all() {
        let guarded = Guarded::start(flavour, "~mine:* +@all -script");
        assert_eq!(guarded.server().command(&["ACL", "WHOAMI"]), bulk("default"));
        let try_as = |url: String, command: &str, word: &str| {
            let mut connection = redis::Client::open(url)
                .expect("a URL")
                .get_connection()
                .map_err(|error| error.to_string())?;
            redis::cmd(command)
                .arg(word)
                .query::<redis::Value>(&mut connection)
                .map_err(|error| error.to_string())
        };
        assert!(try_as(guarded.user_url(), "GET", "mine:1").is_ok());
        assert!(try_as(guarded.user_url(), "GET", "yours").is_err());
        assert!(try_as(guarded.user_url(), "SCRIPT", "FLUSH").is_err());
        assert!(try_as(guarded.anonymous_url(), "GET", "mine:1").is_err());
        assert!(try_as(guarded.server().url(), "GET", "yours").is_ok());
    }
}

/// A key moves in the middle of a migration, a primary dies, comes back as a replica.
fn cluster_life(flavour: Flavour) {
    let mut cluster = Cluster::start(flavour);
    let slot = cluster.slot_of("key");
    let (old, new) = (cluster.primary_of(slot), (cluster.primary_of(slot) + 1) % 3);
    cluster.node(old).must(&["SET", "key", "1"]);
    let ask = RespReply::Error(format!("ASK {slot} 127.0.0.1:{}", cluster.node(new).port()));
    let moved = RespReply::Error(format!("MOVED {slot} 127.0.0.1:{}", cluster.node(new).port()));

    let migration = cluster.begin_migration(slot, new);
    assert_eq!(cluster.node(old).command(&["GET", "key"]), bulk("1"), "it is still there");
    assert_eq!(cluster.node(old).command(&["GET", "{key}2"]), ask, "this one never was");
    cluster.move_keys(&migration);
    assert_eq!(cluster.node(old).command(&["GET", "key"]), ask);
    cluster.finish_migration(&migration);
    assert_eq!(cluster.node(old).command(&["GET", "key"]), moved);
    assert_eq!((cluster.primary_of(slot), cluster.node(new).command(&["GET", "key"])), (new, bulk("1")));

    cluster.node(new).replicated(&["SET", "key", "2"]);
    cluster.kill_primary(new);
    cluster.wait_until_ok();
    let promoted = cluster.primary_of(slot);
    assert_eq!((promoted, cluster.node(promoted).command(&["GET", "key"])), (new + 3, bulk("2")));
    cluster.restart(new);
    cluster.wait_until_ok();
    assert_eq!(cluster.node(new).info("role").as_deref(), Some("slave"));
    cluster.migrate_slot(slot, old);
    assert_eq!(cluster.node(old).command(&["GET", "key"]), bulk("2"));
    assert_eq!(cluster.urls().len(), 6);
}

#[test]
fn a_cluster_of_redis_7_0() {
    cluster_life(Flavour::Redis70);
}

#[test]
fn a_cluster_of_redis_6_2() {
    cluster_life(Flavour::Redis62);
}

#[test]
fn a_cluster_of_valkey_9() {
    cluster_life(Flavour::Valkey9);
}

#[test]
fn sentinels_fail_over_and_back() {
    let mut sentinels = Sentinels::start();
    assert_eq!((sentinels.master_name(), sentinels.urls().len()), ("slidegate", 3));
    sentinels.wait_for_primary().replicated(&["SET", "key", "1"]);
    let first = sentinels.kill_primary();
    assert_eq!(sentinels.wait_for_primary().command(&["GET", "key"]), bulk("1"), "the replica had it");
    sentinels.restart(first);
    sentinels.wait_until_ok();
    let second = sentinels.kill_primary();
    assert_ne!(first, second);
    assert_eq!(sentinels.wait_for_primary().command(&["GET", "key"]), bulk("1"));
}

/// What a server answers to PING over TLS, to a client that trusts `ca` and shows `client`.
fn ping_over_tls(url: String, ca: &str, client: Option<&Pem>) -> redis::RedisResult<String> {
    let bytes = |pem: &str| pem.as_bytes().to_vec();
    let client_tls = client
        .map(|pem| ClientTlsConfig { client_cert: bytes(&pem.certificate), client_key: bytes(&pem.key) });
    let client =
        redis::Client::build_with_tls(url, TlsCertificates { client_tls, root_cert: Some(bytes(ca)) })?;
    redis::cmd("PING").query(&mut client.get_connection()?)
}

#[test]
fn tls_with_and_without_certificates_of_clients() {
    let open = TlsServer::start(ClientCertificates::NotRequired);
    assert_eq!(ping_over_tls(open.url(), &open.ca, None).expect("a reply"), "PONG");
    assert!(ping_over_tls(open.url(), &TlsServer::stranger(), None).is_err());
    let strict = TlsServer::start(ClientCertificates::Required);
    assert!(ping_over_tls(strict.url(), &strict.ca, None).is_err());
    assert!(ping_over_tls(strict.url(), &strict.ca, Some(&open.client)).is_err(), "of another authority");
    assert_eq!(ping_over_tls(strict.url(), &strict.ca, Some(&strict.client)).expect("a reply"), "PONG");
    assert_eq!(strict.server().command(&["PING"]), simple("PONG"));
}

/// INCR through the proxy, and what is read of the reply.
fn incr(through: &mut TcpStream) -> std::io::Result<String> {
    through.write_all(b"INCR n\r\n")?;
    let mut reply = [0; 16];
    let length = through.read(&mut reply)?;
    Ok(String::from_utf8_lossy(&reply[..length]).into_owned())
}

#[test]
fn a_proxy_drops_replies_of_what_took_effect() {
    let server = RedisServer::start(Flavour::Redis70);
    let proxy = Proxy::start(server.port());
    let connect = || TcpStream::connect(("127.0.0.1", proxy.port())).expect("a connection");
    let (mut first, mut second) = (connect(), connect());
    assert_eq!(incr(&mut first).expect("a reply"), ":1\r\n");
    let delivered = proxy.counts().delivered;

    proxy.drop_replies(AfterDrop::Close);
    assert_eq!(incr(&mut first).expect("the end"), "", "closed");
    assert_eq!(server.command(&["GET", "n"]), bulk("2"), "but done");

    proxy.drop_replies(AfterDrop::Hang);
    second.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out");
    assert!(incr(&mut second).is_err(), "no reply");
    servers::wait_for("the third", || match server.command(&["GET", "n"]) {
        reply if reply == bulk("3") => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(proxy.counts().delivered, delivered);
    proxy.pass();
    assert!(incr(&mut second).is_err(), "it hangs for good");
    assert_eq!(incr(&mut connect()).expect("a reply"), ":5\r\n");
    assert_eq!(proxy.counts().connections, 3);
}

#[test]
fn a_proxy_delays_cuts_and_refuses() {
    let server = RedisServer::start(Flavour::Redis70);
    let proxy = Proxy::start(server.port());
    let connect = || TcpStream::connect(("127.0.0.1", proxy.port()));
    let mut stream = connect().expect("a connection");
    proxy.delay(Duration::from_millis(50));
    let began = Instant::now();
    assert_eq!(incr(&mut stream).expect("a reply"), ":1\r\n");
    assert!(began.elapsed() >= Duration::from_millis(50));
    proxy.pass();
    proxy.refuse();
    assert!(connect().is_err());
    assert_eq!(incr(&mut stream).expect("a reply"), ":2\r\n", "what was open stays open");
    proxy.cut();
    assert!(incr(&mut stream).map_or(true, |reply| reply.is_empty()));
    proxy.pass();
    assert_eq!(incr(&mut connect().expect("a connection")).expect("a reply"), ":3\r\n");
}
