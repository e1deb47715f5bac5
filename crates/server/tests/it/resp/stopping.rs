//! Shutdown: commands in progress are answered, and then the connection ends.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::resp::client::{Client, bytes_of};
use crate::resp::service::{Kind, Service};

fn policy(server: &str) -> String {
    format!("server: {{ {server} }}\nrules: [{{ name: api, key: [user], limits: [1000/min] }}]")
}

async fn is_last(client: &mut Client) {
    assert_eq!(client.reply().await.integers()[0], 1);
    assert!(client.is_ended().await);
}

/// Half a command is here, and the rest comes when it is over for everybody else.
#[tokio::test]
async fn what_was_begun_is_answered() {
    let command = bytes_of(&["SG.CHECK", "1", "user", "alice"]);
    for cut in [1, 6, command.len() - 1] {
        let service = Service::start(Kind::Memory, &policy("")).await;
        let address = service.address;
        let mut client = service.client().await;
        // Together with a complete one, whose reply proves that both were read.
        client.write(&[&command[..], &command[..cut]].concat()).await;
        assert_eq!(client.reply().await.integers()[0], 1);
        let served = service.stop();
        while TcpStream::connect(address).await.is_ok() {}
        client.write(&command[cut..]).await;
        is_last(&mut client).await;
        timeout(Duration::from_secs(5), served).await.expect("no waiting").expect("an end");
    }
}

/// One that is open, but of which nothing was read, has a moment for its first command.
#[tokio::test]
async fn who_has_just_come_may_still_ask() {
    let service = Service::start(Kind::Memory, &policy("")).await;
    let address = service.address;
    let mut fresh = service.client().await;
    let mut idle = service.client().await;
    assert_eq!(idle.say("PING").await.text(), "PONG");
    let mut silent = service.client().await;
    let served = service.stop();
    while TcpStream::connect(address).await.is_ok() {}
    for client in [&mut fresh, &mut idle] {
        client.write(&bytes_of(&["SG.CHECK", "1", "user", "alice"])).await;
        is_last(client).await;
    }
    assert!(silent.is_ended().await);
    served.await.expect("an end");
}

/// Whoever connects meanwhile is answered, and does not stay.
#[tokio::test]
async fn balancers_have_time_to_notice() {
    let service = Service::start(Kind::Memory, &policy("shutdown_delay: 2s")).await;
    let (address, app) = (service.address, service.app.clone());
    let mut open = service.client().await;
    assert_eq!(open.say("PING").await.text(), "PONG");
    let served = service.stop();
    while app.is_ready() {
        tokio::task::yield_now().await;
    }
    let mut fresh = Client::connect(address).await;
    for client in [&mut open, &mut fresh] {
        client.write(&bytes_of(&["SG.CHECK", "1", "user", "alice"])).await;
        is_last(client).await;
    }
    served.await.expect("an end");
    assert!(TcpStream::connect(address).await.is_err());
}

/// Nobody is left without a word when the time is over.
#[tokio::test]
async fn open_requests_get_an_error_at_the_deadline() {
    let service = Service::start(Kind::Memory, &policy("shutdown_timeout: 200ms")).await;
    let mut client = service.client().await;
    client.write(b"PING\r\n*2\r\n$4\r\nEC").await;
    assert_eq!(client.reply().await.text(), "PONG");
    let (app, served) = (service.app.clone(), service.stop());
    assert_eq!(client.reply().await.error(), "UNAVAILABLE the server is shutting down; retry");
    drop(client);
    timeout(Duration::from_secs(5), served).await.expect("an end").expect("an end");
    assert_eq!(app.connection_stats().open, 0);
}
