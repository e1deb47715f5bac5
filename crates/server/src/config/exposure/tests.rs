//! Every address with everything that may guard it: it is open to strangers in none of them.

use slidegate::policy::file::{Admin, Spanned, Tls};

use super::*;

/// What guards it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum With {
    Nothing,
    Token,
    EmptyToken,
    ShortToken,
    Tls,
    ClientCa,
}

const ALL: [With; 6] =
    [With::Nothing, With::Token, With::EmptyToken, With::ShortToken, With::Tls, With::ClientCa];

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

fn server(listen: &str, with: With) -> Server {
    let file = |name: &str| Spanned::of(name.to_owned());
    let tls = Tls { certificate: file("cert.pem"), key: file("key.pem"), client_ca: None };
    let admin = Admin {
        listen: Spanned::of(address(listen)),
        token: match with {
            With::Token => Some(file("s3cret-and-long-enough")),
            With::EmptyToken => Some(file("")),
            With::ShortToken => Some(file("fifteen letters")),
            _ => None,
        },
        tls: match with {
            With::Tls => Some(tls),
            With::ClientCa => Some(Tls { client_ca: Some(file("ca.pem")), ..tls }),
            _ => None,
        },
    };
    Server { admin: Some(admin), ..Server::default() }
}

#[test]
fn beyond_loopback_it_needs_a_token_or_certificates() {
    for with in ALL {
        for listen in LOCAL {
            let expected = !matches!(with, With::EmptyToken | With::ShortToken);
            assert_eq!(check_settings(&server(listen, with)).is_ok(), expected, "{listen} {with:?}");
        }
        for listen in BEYOND {
            let checked = check_settings(&server(listen, with));
            assert_eq!(checked.is_ok(), is_enough(with), "{listen} {with:?}");
            if let Err(error) = checked {
                let said = error.to_string();
                assert!(said.starts_with("server.admin") && said.contains("token"), "{said}");
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
            assert_eq!(
                check_bound(admin, address(listen)).is_ok(),
                !matches!(with, With::EmptyToken | With::ShortToken),
                "{listen} {with:?}"
            );
        }
    }
}

#[test]
fn without_a_listener_there_is_nothing_to_guard() {
    check_settings(&Server::default()).expect("nothing is open");
}
