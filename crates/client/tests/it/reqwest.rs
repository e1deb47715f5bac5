//! The middleware of reqwest, with a server on loopback.

use http::StatusCode;
use reqwest_middleware::ClientBuilder;
use slidegate_client::{Retry, RetryMiddleware, Stop};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::environment::VirtualEnvironment;

const REFUSAL: &str =
    "HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const SUCCESS: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";

/// Serves these responses, one a connection, and returns the bodies of the requests.
async fn serve(listener: TcpListener, responses: [&'static str; 2]) -> Vec<String> {
    let mut bodies = Vec::new();
    for response in responses {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"two apples") {
            assert_ne!(stream.read_buf(&mut bytes).await.expect("a request"), 0, "a whole request");
        }
        let text = String::from_utf8(bytes).expect("text");
        bodies.push(text.split_once("\r\n\r\n").expect("a head").1.to_owned());
        stream.write_all(response.as_bytes()).await.expect("the client reads");
    }
    bodies
}

// Only the wait of the client is a timer, so that the paused clock advances at once.
#[tokio::test(start_paused = true)]
async fn a_refused_request_is_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/orders", listener.local_addr().expect("an address"));
    let server = tokio::spawn(serve(listener, [REFUSAL, SUCCESS]));
    let retry = Retry::in_environment(VirtualEnvironment::new());
    let client = ClientBuilder::new(reqwest::Client::new()).with(RetryMiddleware::new(retry)).build();
    let response = client.post(url).body("two apples").send().await.expect("a response");
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.extensions().get(), Some(&Stop::NotRefused));
    assert_eq!(response.text().await.expect("a body"), "ok");
    assert_eq!(server.await.expect("no panic"), ["two apples", "two apples"]);
}
