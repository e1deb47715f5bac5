use super::*;

#[test]
fn one_server() {
    let config = RedisConfig::parse("rediss://alice:s%20x@cache.example/3").unwrap();
    let Servers::One(endpoint) = &config.servers else { panic!("{config:?}") };
    assert_eq!(endpoint.to_string(), "cache.example:6379");
    assert_eq!(endpoint.login.username(), Some("alice"));
    assert_eq!(endpoint.login.password(), Some("s x"));
    assert_eq!(endpoint.login.db(), 3);
    assert!(!format!("{config:?}").contains("s x"));
}

#[test]
fn sentinels_get_their_own_login() {
    let config = RedisConfig::sentinel(["redis://:primary@s1:26379", "redis://s2"], "mymaster").unwrap();
    let config = config.sentinel_user("watch").sentinel_password("dog");
    let Servers::Sentinel { sentinels, name, primary } = &config.servers else { panic!("{config:?}") };
    assert_eq!((sentinels.len(), name.as_str()), (2, "mymaster"));
    assert_eq!(primary.login.password(), Some("primary"));
    assert_eq!(sentinels[1].to_string(), "s2:26379");
    for sentinel in sentinels {
        assert_eq!((sentinel.login.username(), sentinel.login.password()), (Some("watch"), Some("dog")));
    }
}

#[test]
fn bad_urls_are_refused_without_repeating_a_password() {
    for url in [
        "",
        "localhost:6379",
        "http://:secret@host",
        "redis://:secret@host/zero",
        "redis://:secret@host:port",
        "redis://:secret@0.0.0.0",
        "redis://:secret@host?timeout=3",
        "rediss://:secret@host/#insecure",
    ] {
        let error = RedisConfig::parse(url).unwrap_err();
        assert!(matches!(error, RedisConfigError::Url(_)), "{url}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn several_servers_have_to_agree() {
    assert_eq!(RedisConfig::cluster([]).unwrap_err(), RedisConfigError::NoServer);
    assert_eq!(RedisConfig::cluster(["redis://a/1"]).unwrap_err(), RedisConfigError::Database);
    assert_eq!(RedisConfig::cluster(["redis://a", "rediss://b"]).unwrap_err(), RedisConfigError::Mixed);
    assert_eq!(RedisConfig::sentinel(["unix:///tmp/s"], "m").unwrap_err(), RedisConfigError::Socket);
    assert!(RedisConfig::cluster(["redis://a:1", "redis://b:2"]).is_ok());
}

#[test]
fn what_is_set_is_checked() {
    let config = || RedisConfig::parse("redis://localhost").unwrap();
    assert_eq!(config().prefix("{a}").unwrap_err(), RedisConfigError::Prefix("{a}".to_owned()));
    assert_eq!(config().max_batch(0).max_batch, 1);
    let error = config().root_certificate(b"nonsense").unwrap_err();
    assert!(matches!(error, RedisConfigError::Pem { what: "root certificate", .. }), "{error}");
    let error = config().client_certificate(ClientCertificate { chain: b"", key: b"" }).unwrap_err();
    assert!(matches!(error, RedisConfigError::Pem { what: "client certificate", .. }), "{error}");
}
