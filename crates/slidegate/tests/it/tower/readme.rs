//! The first program of the README, as it stands, and clients with addresses of their own.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::routing::get;
use slidegate::tower::RateLimitLayer;
use slidegate_testkit::program::blocks;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};

const README: &str = include_str!("../../../../../README.md");
const PROGRAM: &str = include_str!("readme/program.rs");

/// The program, on a free port instead of its own.
mod program {
    use std::net::SocketAddr;
    use std::sync::OnceLock;
    use std::thread;

    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();

    /// `tokio` of the program.
    mod tokio {
        pub(super) use ::tokio::{main, runtime};

        pub(super) mod net {
            use std::io;

            pub(in super::super) struct TcpListener;

            impl TcpListener {
                pub(in super::super) async fn bind(address: &str) -> io::Result<::tokio::net::TcpListener> {
                    assert_eq!(address, "127.0.0.1:3000");
                    let listener = ::tokio::net::TcpListener::bind("127.0.0.1:0").await?;
                    super::super::ADDRESS.set(listener.local_addr()?).expect("it binds once");
                    Ok(listener)
                }
            }
        }
    }

    mod source {
        use super::tokio;

        include!("readme/program.rs");

        pub(super) fn run() {
            main().expect("it serves");
        }
    }

    /// Starts the program, which runs until the process ends.
    pub(super) fn start() -> SocketAddr {
        thread::spawn(source::run);
        *ADDRESS.wait()
    }
}

#[test]
fn the_layer_comes_first_and_takes_ten_lines() {
    assert_eq!(blocks(README, "rust,no_run").first(), Some(&PROGRAM.trim_end()));
    let lines = PROGRAM.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 10, "{lines} lines");
    let (before, _) = README.split_once("```rust").expect("a block");
    assert!(before.contains("`cargo add slidegate --features tower` is all that it needs"));
    for other in ["sh", "console", "yaml", "toml"] {
        assert!(blocks(before, other).is_empty(), "{other} before the layer");
    }
}

/// Response to a client with this address, and a connection of its own.
async fn response(server: SocketAddr, client: &str) -> String {
    let client: IpAddr = client.parse().expect("an address");
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((client, 0).into()).expect("an address of loopback");
    let mut stream = socket.connect(server).await.expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).await.expect("a response");
    response
}

#[tokio::test]
async fn the_program_limits_each_client() {
    let server = program::start();
    for (client, remaining) in
        [("127.0.0.1", 599), ("127.0.0.1", 598), ("127.0.0.2", 599), ("127.0.0.1", 597), ("127.0.0.2", 598)]
    {
        let response = response(server, client).await;
        assert!(response.starts_with("HTTP/1.1 200 ") && response.ends_with("hello"), "{response}");
        assert!(response.contains("\r\nratelimit-policy: \"requests-10/s\";q=10;w=1,"), "{response}");
        assert!(response.contains(&format!("\"requests-600/min\";r={remaining};t=")), "{response}");
    }
}

#[tokio::test]
async fn two_clients_of_a_server_have_separate_limits() {
    let layer = RateLimitLayer::per_client(["2/h"]).expect("a layer");
    let app = Router::new().route("/", get(|| async { "hello" })).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let server = listener.local_addr().expect("an address");
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let requests = [
        ("127.0.0.1", "200"),
        ("127.0.0.1", "200"),
        ("127.0.0.1", "429"),
        ("127.0.0.2", "200"),
        ("127.0.0.1", "429"),
        ("127.0.0.2", "200"),
        ("127.0.0.2", "429"),
    ];
    for (index, (client, status)) in requests.into_iter().enumerate() {
        let response = response(server, client).await;
        assert_eq!(response.split(' ').nth(1), Some(status), "request {index} of {client}: {response}");
    }
}
