//! Every address with everything that may guard it: it is open to strangers in none of them.

use super::*;
use crate::config::Token;

/// What guards it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum With {
    Nothing,
    Token,
    Tls,
    ClientCa,
}

const ALL: [With; 4] = [With::Nothing, With::Token, With::Tls, With::ClientCa];

/// Whether that keeps strangers out.
fn is_enough(with: With) -> bool {
    matches!(with, With::Token | With::ClientCa)
}

const LOCAL: [&str; 6] = [
    "127.0.0.1:8090",
    "127.0.0.1:0",
    "127.255.255.254:1",
    "[::1]:8090",
    "[::ffff:127.0.0.1]:8090",
    "[::ffff:7f00:1]:8090",
];

const BEYOND: [&str; 12] = [
    "0.0.0.0:8090",
    "0.0.0.0:0",
    "10.0.0.1:8090",
    "192.168.1.1:8090",
    "203.0.113.7:8090",
    "126.255.255.255:8090",
    "128.0.0.1:8090",
    "[::]:8090",
    "[::ffff:0.0.0.0]:8090",
    "[::ffff:10.0.0.1]:8090",
    "[fe80::1]:8090",
    "[2001:db8::1]:8090",
];

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn server(listen: &str, with: With) -> ServerSettings {
    let tls = TlsSettings { certificate: "cert.pem".to_owned(), key: "key.pem".to_owned(), client_ca: None };
    let admin = AdminSettings {
        listen: address(listen),
        token: match with {
            With::Token => Some(Token::new("s3cret-and-long-enough").expect("a token")),
            _ => None,
        },
        tls: match with {
            With::Tls => Some(tls),
            With::ClientCa => Some(TlsSettings { client_ca: Some("ca.pem".to_owned()), ..tls }),
            _ => None,
        },
    };
    ServerSettings { admin: Some(admin), ..ServerSettings::default() }
}

/// A token that can be guessed is no token.
#[test]
fn short_tokens_do_not_exist() {
    for short in ["", "fifteen letters"] {
        assert!(Token::new(short).is_err(), "{short:?}");
    }
}

#[test]
fn beyond_loopback_it_needs_a_token_or_certificates() {
    for with in ALL {
        for listen in LOCAL {
            assert!(check_settings(&server(listen, with)).is_ok(), "{listen} {with:?}");
        }
        for listen in BEYOND {
            let checked = check_settings(&server(listen, with));
            assert_eq!(checked.is_ok(), is_enough(with), "{listen} {with:?}");
            if let Err(error) = checked {
                let message = error.to_string();
                assert!(message.starts_with("server.admin") && message.contains("token"), "{message}");
            }
        }
    }
}

/// Whatever the settings said: what counts is where it listens.
#[test]
fn what_is_bound_is_looked_at_again() {
    for with in ALL {
        let settings = server("127.0.0.1:8090", with);
        let admin = settings.admin.as_ref().expect("a listener");
        for listen in BEYOND {
            assert_eq!(check_bound(admin, address(listen)).is_ok(), is_enough(with), "{listen} {with:?}");
        }
        for listen in LOCAL {
            assert!(check_bound(admin, address(listen)).is_ok(), "{listen} {with:?}");
        }
    }
}

#[test]
fn without_a_listener_there_is_nothing_to_guard() {
    check_settings(&ServerSettings::default()).expect("nothing is open");
}
