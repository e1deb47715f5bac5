//! The token, where one is set.

use tonic::Code;

use crate::grpc::client::{LIMIT, framed, request};
use crate::grpc::service::Service;
use prost::Message;

#[tokio::test]
async fn without_the_token_nothing_is_decided() {
    let service = Service::with("token: s3cret-and-long-enough").await;
    let mut client = service.client().await;
    let message = framed(&request("alice").encode_to_vec());
    for token in [None, Some("Bearer wrong"), Some("s3cret-and-long-enough")] {
        let headers: Vec<_> = token.map(|token| ("authorization", token)).into_iter().collect();
        let reply = client.call(LIMIT, &headers, message.clone()).await;
        assert_eq!((reply.http, reply.code()), (200, Code::Unauthenticated), "{token:?}");
        assert!(reply.text().contains("invalid bearer token"), "{reply:?}");
    }
    let token = [("authorization", "bearer s3cret-and-long-enough")];
    assert_eq!(client.call(LIMIT, &token, message).await.code(), Code::Ok);
    // Balancers have none.
    let health = client.call("/grpc.health.v1.Health/Check", &[], framed(&[])).await;
    assert_eq!(health.code(), Code::Ok);
}
