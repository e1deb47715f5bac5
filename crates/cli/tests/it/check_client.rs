//! `slidegate-client` against a server.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use slidegate_client::Retry;
use slidegate_client::check::{
    BoxError, CheckAnswer, CheckClient, CheckError, CheckParameters, CheckVerdict, PermitOutcome,
};
use slidegate_testkit::program::{ServerProcess, file, path};
use tower_service::Service;

const POLICY: &str = "
version: 1
rules:
  - name: upload
    match: { path: /upload }
    key: [user]
    missing: deny
    limits: [10/h]
    refundable: true
";
const TOKEN: &str = "correct-horse-battery";
/// For a machine with much else to do.
const TIMEOUT: Duration = Duration::from_secs(30);

type Http = Client<HttpConnector, Full<Bytes>>;

fn http() -> Http {
    Client::builder(TokioExecutor::new()).build(HttpConnector::new())
}

/// HTTP client that loses the first responses.
#[derive(Clone)]
struct LossyHttp {
    http: Http,
    losses: Arc<AtomicU32>,
}

impl Service<Request<Full<Bytes>>> for LossyHttp {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let Self { http, losses } = self.clone();
        Box::pin(async move {
            let response = http.request(request).await?;
            let left = losses.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            left.map_or(Ok(response), |_| Err("the response is lost".into()))
        })
    }
}

fn upload() -> CheckParameters {
    CheckParameters::new().attribute("path", "/upload").attribute("user", "alice")
}

fn answer(verdict: CheckVerdict) -> CheckAnswer {
    match verdict {
        CheckVerdict::Allowed(answer) | CheckVerdict::Denied(answer) => answer,
        CheckVerdict::Blocked(block) => panic!("{block:?}"),
    }
}

#[tokio::test]
async fn checks_settlements_and_refunds() {
    let policy = file(POLICY);
    let server = ServerProcess::start(&[path(&policy), "--token", TOKEN]);
    let client = CheckClient::new(http(), &server.url()).expect("an address").timeout(TIMEOUT);
    let error = client.check(&upload()).await.expect_err("there is no token");
    assert!(matches!(error, CheckError::Status { status, .. } if status == 401), "{error}");
    let client = client.token(TOKEN).expect("a token");

    let large = answer(client.check(&upload().cost(8)).await.expect("an answer"));
    assert_eq!((large.remaining, large.replayed), (Some(2), false));
    let denial = client.check(&upload().cost(8)).await.expect("an answer");
    assert!(!denial.is_allowed());
    assert!(answer(denial).retry_after_ms.is_some());

    let permit = large.permit.expect("a permit");
    assert_eq!(client.settle(&permit, 3).await.expect("an outcome"), PermitOutcome::Settled);
    let small = answer(client.check(&upload()).await.expect("an answer"));
    assert_eq!(small.remaining, Some(6));
    let permit = small.permit.expect("a permit");
    assert_eq!(client.refund(&permit).await.expect("an outcome"), PermitOutcome::Settled);
    assert_eq!(client.refund(&permit).await.expect("an outcome"), PermitOutcome::AlreadySpent);

    let stranger = CheckParameters::new().attribute("path", "/upload");
    let verdict = client.check(&stranger).await.expect("an answer");
    assert!(matches!(&verdict, CheckVerdict::Blocked(block) if block.rule == "upload"), "{verdict:?}");
}

#[tokio::test]
async fn a_check_whose_response_is_lost_is_charged_once() {
    let policy = file(POLICY);
    let server = ServerProcess::start(&[path(&policy)]);
    let http = LossyHttp { http: http(), losses: Arc::new(AtomicU32::new(1)) };
    let client = CheckClient::with_retry(http, &server.url(), Retry::new()).expect("an address");
    let client = client.timeout(TIMEOUT);
    let first = answer(client.check(&upload()).await.expect("an answer"));
    assert_eq!((first.remaining, first.replayed), (Some(9), true));
    let second = answer(client.check(&upload()).await.expect("an answer"));
    assert_eq!((second.remaining, second.replayed), (Some(8), false));
}
