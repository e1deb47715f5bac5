//! The service's token is a password here.

use serde_json::json;

use crate::resp_clients::Service;
use crate::resp_clients::client::{ALL, BOTH, Client, Entry};
use crate::resp_clients::session::Reply;

const TOKEN: &str = "correct-horse-battery";

fn enter(user: Option<&'static str>, password: Option<&'static str>, verify: impl Fn(Client, Reply)) {
    let service = Service::start_with(&["--token", TOKEN]);
    for (client, protocol) in ALL.into_iter().flat_map(|client| BOTH.map(|protocol| (client, protocol))) {
        let entry = Entry { user, password, ..Entry::of(service.at, protocol) };
        verify(client, client.enter(entry).ask("ECHO hello"));
    }
}

#[test]
fn who_has_it_comes_in() {
    for user in [None, Some("default")] {
        enter(user, Some(TOKEN), |client, reply| {
            assert_eq!(reply, Reply::Value(json!("hello")), "{client:?}");
        });
    }
}

#[test]
fn who_has_not_does_not() {
    enter(None, None, |client, reply| {
        // In the third version the first command is a greeting, which has words of its own.
        let words = ["NOAUTH ", "Authentication required.", "HELLO must be called"];
        let is_refused =
            matches!(&reply, Reply::Refused(text) if words.iter().any(|words| text.starts_with(words)));
        assert!(is_refused, "{client:?}: {reply:?}");
    });
    for (user, password) in
        [(None, "wrong"), (Some("default"), "correct-horse-batter"), (Some("mallory"), TOKEN)]
    {
        enter(user, Some(password), |client, reply| {
            let text = match client {
                // It says why on its standard error, and then asks without.
                Client::RedisCli => "NOAUTH Authentication required.",
                Client::RedisPy => "invalid username-password pair or user is disabled.",
                Client::Ioredis => "WRONGPASS invalid username-password pair or user is disabled.",
            };
            assert_eq!(reply, Reply::Refused(text.to_owned()), "{client:?}");
        });
    }
}
