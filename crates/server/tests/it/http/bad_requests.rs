//! Requests that are not right: a clear answer, and a connection that can still be used.

use crate::http::client::{Client, Response};
use crate::http::service::{Kind, Service};

async fn service() -> Service {
    Service::start(Kind::Memory, "rules: [{ name: api, key: [user], limits: [5/min] }]").await
}

/// The connection is still good for a request that is right.
async fn goes_on(client: &mut Client) {
    let body = br#"{"attributes":{"path":"/"},"cost":0}"#;
    assert_eq!(client.send("POST", "/v1/check", &[], body).await.status, 200);
}

fn is_problem(response: &Response, status: u16, expected: &str) {
    assert_eq!(response.status, status, "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/problem+json"));
    assert!(response.detail().contains(expected), "{:?} is not in {:?}", expected, response.detail());
}

#[tokio::test]
async fn bodies() {
    let most = u64::MAX;
    let sixty_five: Vec<String> = (0..65).map(|n| format!("\"{n}\":\"\"")).collect();
    let sixty_five = format!("{{\"attributes\":{{{}}}}}", sixty_five.join(","));
    let long_name = format!("{{\"attributes\":{{\"{}\":\"\"}}}}", "x".repeat(129));
    let long_value = format!("{{\"attributes\":{{\"user\":\"{}\"}}}}", "x".repeat(4_097));
    let long_key = format!("{{\"attributes\":{{}},\"idempotency_key\":\"{}\"}}", "x".repeat(256));
    let deep = format!("{{\"attributes\":{}", "{\"a\":".repeat(10_000));
    let rows: &[(&[u8], &str)] = &[
        (b"", "empty body"),
        (b"{", "line 1, column 1"),
        (b"{\n  \"attributes\": {},\n  \"cost\": }", "line 3, column 11: expected value"),
        (b"nonsense", "line 1, column 2: expected ident"),
        (b"[]", "expected a JSON object"),
        (b"[{}]", "expected a JSON object"),
        (b"null", "expected a JSON object"),
        (b"\"text\"", "expected a JSON object"),
        (br#"{"attributes":{}} trailing"#, "trailing characters"),
        (br#"{"attributes":{}}{}"#, "trailing characters"),
        (br#"{}"#, "missing field `attributes`"),
        (br#"{"cost":1}"#, "missing field `attributes`"),
        (br#"{"attributes":[]}"#, "attributes: invalid type: sequence, expected an object of strings"),
        (br#"{"attributes":null}"#, "attributes: invalid type: null, expected an object of strings"),
        (br#"{"attributes":{"ip":5}}"#, "attributes.ip: invalid type: integer `5`, expected a string"),
        (br#"{"attributes":{"ip":null}}"#, "attributes.ip: invalid type: null, expected a string"),
        (br#"{"attributes":{"a":"1","a":"2"}}"#, "the attribute \"a\" is given twice"),
        (br#"{"attributes":{"a":"1","\u0061":"2"}}"#, "the attribute \"a\" is given twice"),
        (br#"{"attributes":{"":"1"}}"#, "empty attribute name"),
        (br#"{"attributes":{},"attributes":{}}"#, "duplicate field `attributes`"),
        (br#"{"attributes":{},"costs":1}"#, "unknown field `costs`, expected one of `attributes`, `cost`"),
        (br#"{"attributes":{},"cost":-1}"#, "cost: invalid type: integer `-1`, expected a whole number"),
        (
            br#"{"attributes":{},"cost":1.5}"#,
            "cost: invalid type: floating point `1.5`, expected a whole number",
        ),
        (br#"{"attributes":{},"cost":18446744073709551616}"#, "expected a whole number from 0 to"),
        (br#"{"attributes":{},"cost":1e400}"#, "number out of range"),
        (br#"{"attributes":{},"cost":"1"}"#, "cost: invalid type: string \"1\""),
        (br#"{"attributes":{},"cost":null}"#, "cost: invalid type: null"),
        (br#"{"attributes":{},"idempotency_key":""}"#, "idempotency_key has 1 to 255 bytes"),
        (br#"{"attributes":{},"idempotency_key":null}"#, "idempotency_key: invalid type: null"),
        (br#"{"attributes":{},"idempotency_key":7}"#, "idempotency_key: invalid type: integer `7`"),
        (br#"{"attributes":{},"wait_ms":30001}"#, "wait_ms is at most 30000, not 30001"),
        (br#"{"attributes":{},"wait_ms":-5}"#, "wait_ms: invalid type: integer `-5`"),
        (b"{\"attributes\":{\"a\":\"\xff\"}}", "invalid UTF-8 in the body after byte 20"),
        (b"\xef\xbb\xbf{}", "expected value"),
        (br#"{"attributes":{"a":"\ud800"}}"#, "line 1"),
        (sixty_five.as_bytes(), "more than 64 attributes"),
        (long_name.as_bytes(), "129 bytes, the maximum is 128"),
        (long_value.as_bytes(), "value of `user` too long: 4097 bytes, the maximum is 4096"),
        (long_key.as_bytes(), "idempotency_key has 1 to 255 bytes"),
        (deep.as_bytes(), "attributes.a: invalid type: map, expected a string"),
    ];
    let service = service().await;
    let mut client = service.client().await;
    for (body, expected) in rows {
        is_problem(&client.send("POST", "/v1/check", &[], body).await, 400, expected);
    }
    goes_on(&mut client).await;
    let whole = client.send("POST", "/v1/check", &[], br#"{"attributes":{"user":"b"},"cost":2.0}"#).await;
    assert_eq!(whole.at("/remaining"), 3);
    let largest = format!("{{\"attributes\":{{\"user\":\"a\"}},\"cost\":{most}}}");
    let never = client.send("POST", "/v1/check", &[], largest.as_bytes()).await;
    assert_eq!((never.status, never.at("/limits/0/outcome")), (429, "never".into()));
    assert_eq!(never.header("retry-after"), None);
}

#[tokio::test]
async fn content_types() {
    let service = service().await;
    let mut client = service.client().await;
    let body = br#"{"attributes":{}}"#;
    let rows = [
        (None, 200),
        (Some("application/json"), 200),
        (Some("Application/JSON; charset=utf-8"), 200),
        (Some("text/plain"), 415),
        (Some("application/x-www-form-urlencoded"), 415),
        (Some("application/jsonp"), 415),
    ];
    for (content_type, status) in rows {
        let headers: Vec<_> = content_type.map(|value| ("content-type", value)).into_iter().collect();
        let answer = client.send("POST", "/v1/check", &headers, body).await;
        assert_eq!(answer.status, status, "{content_type:?}");
    }
}

#[tokio::test]
async fn bodies_that_are_too_large() {
    let service = service().await;
    let mut client = service.client().await;
    // What just fits, and one byte more.
    let padded = |bytes: usize| {
        let mut body = br#"{"attributes":{}}"#.to_vec();
        body.resize(bytes, b' ');
        body
    };
    assert_eq!(client.send("POST", "/v1/check", &[], &padded(65_536)).await.status, 200);
    for bytes in [65_537, 1 << 20] {
        let answer = client.send("POST", "/v1/check", &[], &padded(bytes)).await;
        is_problem(&answer, 413, "a body has at most 65536 bytes");
    }
    // In chunks, without a length.
    client.write(b"POST /v1/check HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for _ in 0..10 {
        client.write(&[b"2000\r\n", &[b' '; 0x2000][..], b"\r\n"].concat()).await;
    }
    client.write(b"0\r\n\r\n").await;
    is_problem(&client.receive("POST", "/v1/check").await, 413, "a body has at most 65536 bytes");
    goes_on(&mut client).await;
    // Chunks that fit.
    client.write(b"POST /v1/check HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await;
    client.write(b"8\r\n{\"attrib\r\n9\r\nutes\":{}}\r\n0\r\n\r\n").await;
    assert_eq!(client.receive("POST", "/v1/check").await.status, 200);
    // A client that announces its size and waits for permission gets the error at once.
    client
        .write(
            b"POST /v1/check HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 99999999\r\n\r\n",
        )
        .await;
    is_problem(&client.receive("POST", "/v1/check").await, 413, "a body has at most 65536 bytes");
}

#[tokio::test]
async fn paths_and_methods() {
    let service = service().await;
    let mut client = service.client().await;
    for path in ["/v1", "/v1/check/", "/v1/Check", "/v2/check", "/v1/checks", "//v1/check", "/favicon.ico"] {
        is_problem(&client.get(path, &[]).await, 404, "no endpoint at");
    }
    for (path, allow) in [
        ("/v1/check", "POST"),
        ("/v1/settle", "POST"),
        ("/check", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
    ] {
        for method in ["PUT", "DELETE", "OPTIONS", "BREW"] {
            let answer = client.send(method, path, &[], b"").await;
            is_problem(&answer, 405, allow);
            assert_eq!(answer.header("allow"), Some(allow));
        }
    }
    assert_eq!(client.send("HEAD", "/openapi.json", &[], b"").await.status, 200);
    assert_eq!(client.send("HEAD", "/", &[], b"").await.status, 200);
    assert_eq!(client.send("HEAD", "/v1/check", &[], b"").await.status, 405);
    goes_on(&mut client).await;
}

#[tokio::test]
async fn what_is_not_http() {
    let service = service().await;
    let many: String = (0..200).map(|n| format!("x-{n}: 1\r\n")).collect();
    let rows = [
        ("nonsense\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), 431),
        ("POST /v1/check HTTP/1.1\r\ncontent-length: x\r\n\r\n".to_owned(), 400),
        ("POST /v1/check HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".to_owned(), 400),
    ];
    for (bytes, status) in rows {
        let mut client = Client::connect(service.address, None).await;
        client.write(bytes.as_bytes()).await;
        let answer = client.receive("GET", "/").await;
        assert_eq!(answer.status, status, "{:?}", &bytes[..bytes.len().min(60)]);
        assert!(client.is_ended().await);
    }
}

#[tokio::test]
async fn a_head_without_end_is_cut_off() {
    let service = service().await;
    let mut client = Client::connect(service.address, None).await;
    client.write(b"GET / HTTP/1.1\r\nx: ").await;
    // Until nothing is read any more. The response may be lost with the connection.
    while client.try_write(&[b'x'; 4_096]).await.is_ok() {}
}
