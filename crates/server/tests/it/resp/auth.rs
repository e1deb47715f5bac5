//! The token, where one is set.

use crate::resp::client::Reply;
use crate::resp::service::{Kind, Service};

const POLICY: &str = "
server: { token: s3cret-and-long-enough }
rules: [{ name: api, key: [user], limits: [5/min] }]
";
const TOKEN: &str = "s3cret-and-long-enough";

#[tokio::test]
async fn without_the_token_nothing_is_decided() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    for command in [
        "SG.CHECK 1 user a",
        "SG.LIMIT a 1 1",
        "CL.THROTTLE a 1 1 1",
        "SG.REFUND a",
        "PING",
        "INFO",
        "COMMAND",
        "CLIENT ID",
    ] {
        assert_eq!(client.say(command).await.error(), "NOAUTH Authentication required.", "{command}");
    }
    assert!(client.say("GET a").await.error().starts_with("ERR unknown command 'GET'"));
    assert!(
        client
            .say("HELLO 3")
            .await
            .error()
            .starts_with("NOAUTH HELLO must be called with the client already")
    );
    let wrong = "WRONGPASS invalid username-password pair or user is disabled.";
    for command in
        ["AUTH wrong", "AUTH default wrong", "HELLO 3 AUTH default wrong", &format!("AUTH alice {TOKEN}")]
    {
        assert_eq!(client.say(command).await.error(), wrong, "{command}");
    }
    assert_eq!(client.say("AUTH a b c").await.error(), "ERR syntax error");
    assert_eq!(client.say("PING").await.error(), "NOAUTH Authentication required.");
}

#[tokio::test]
async fn with_the_token_everything_is() {
    let service = Service::start(Kind::Memory, POLICY).await;
    for greeting in
        [format!("AUTH {TOKEN}"), format!("AUTH default {TOKEN}"), format!("HELLO 2 AUTH default {TOKEN}")]
    {
        let mut client = service.client().await;
        assert!(!matches!(client.say(&greeting).await, Reply::Error(_)), "{greeting}");
        assert_eq!(client.say("SG.CHECK 0 user a").await.integers()[0], 1, "{greeting}");
        // A wrong one later does not take away what is had.
        assert!(client.say("AUTH wrong").await.error().starts_with("WRONGPASS"));
        assert_eq!(client.say("SG.CHECK 0 user a").await.integers()[0], 1, "{greeting}");
        assert_eq!(client.say("RESET").await.text(), "RESET");
        assert_eq!(client.say("PING").await.error(), "NOAUTH Authentication required.");
    }
}

#[tokio::test]
async fn strangers_may_not_send_much() {
    let service = Service::start(Kind::Memory, POLICY).await;
    for (bytes, error) in [
        ("*11\r\n", "ERR Protocol error: unauthenticated multibulk length"),
        ("*2\r\n$4\r\nAUTH\r\n$16385\r\n", "ERR Protocol error: unauthenticated bulk length"),
    ] {
        let mut client = service.client().await;
        client.write(bytes.as_bytes()).await;
        assert_eq!(client.reply().await.error(), error);
        assert!(client.is_ended().await);
    }
}

#[tokio::test]
async fn without_a_token_there_is_none_to_bring() {
    let service = Service::start(Kind::Memory, "rules: []").await;
    let mut client = service.client().await;
    let error = "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?";
    assert_eq!(client.say("AUTH anything").await.error(), error);
    assert_eq!(client.say("AUTH default anything").await.text(), "OK");
    assert!(client.say("AUTH alice anything").await.error().starts_with("WRONGPASS"));
}
