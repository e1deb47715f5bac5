//! The token, where one is set.

use serde_json::json;

use crate::http::service::{Kind, Service};

#[tokio::test]
async fn without_the_token_nothing_is_decided() {
    let policy = "
server: { token: s3cret-and-long-enough }
rules: [{ name: rlaas, key: [userId], limits: [5/min] }]
";
    let service = Service::start(Kind::Memory, policy).await;
    let mut client = service.client().await;
    let body = json!({ "attributes": {} }).to_string();
    for token in [None, Some("Bearer wrong"), Some("s3cret-and-long-enough")] {
        let headers: Vec<(&str, &str)> = token.map(|token| ("authorization", token)).into_iter().collect();
        let paths =
            [("POST", "/v1/check"), ("POST", "/v1/limit"), ("POST", "/v1/refund"), ("POST", "/v1/settle")];
        for (method, path) in paths.into_iter().chain([("GET", "/v1/authorize"), ("GET", "/check?userId=a")])
        {
            let answer = client.send(method, path, &headers, body.as_bytes()).await;
            assert_eq!(answer.status, 401, "{path} {token:?}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"slidegate\""));
        }
    }
    let token = [("authorization", "Bearer s3cret-and-long-enough")];
    assert_eq!(client.send("POST", "/v1/check", &token, body.as_bytes()).await.status, 200);
    assert_eq!(client.get("/check?userId=a", &token).await.at("/currentCount"), 1);
    assert_eq!(client.get("/v1/authorize", &token).await.status, 200);
    // What this is can be read by anybody.
    assert_eq!(client.get("/openapi.json", &[]).await.status, 200);
    assert_eq!(client.get("/", &[]).await.at("/service"), "slidegate");
}
