//! A caller's trace goes on here, and its caller decides whether.

use prost::Message;

use crate::grpc::client::{self as grpc, LIMIT, framed};
use crate::otlp::collector::Collector;
use crate::otlp::http::check;
use crate::otlp::service::Service;
use crate::otlp::spans::spans;

const RULES: &str = "rules: [{ name: api, key: [user], limits: [1000/min] }]";
const SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const NOT_SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

#[tokio::test(flavor = "multi_thread")]
async fn over_http_and_grpc() {
    for share in ["0%", "100%"] {
        let collector = Collector::start().await;
        let service = Service::start(&collector.setting(share), RULES).await;
        let state = ("tracestate", "congo=t61rcWkgMzE");
        assert_eq!(check(service.http, "/a", &[("traceparent", SAMPLED), state]).await, 200);
        assert_eq!(check(service.http, "/a", &[("traceparent", NOT_SAMPLED), state]).await, 200);
        let mut client = grpc::Client::connect(service.grpc).await;
        for parent in [SAMPLED, NOT_SAMPLED] {
            let message = framed(&grpc::request("bob").encode_to_vec());
            client.call(LIMIT, &[("traceparent", parent)], message).await;
        }
        service.stop().await;
        let spans = spans(&collector.all());
        assert_eq!(spans.len(), 2, "{spans:?}");
        for span in &spans {
            assert_eq!(span.trace_id, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes());
            assert_eq!(span.parent_span_id, 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes());
            assert_eq!(span.flags, 0x301, "the parent is elsewhere");
        }
        assert_eq!((&*spans[0].trace_state, &*spans[1].trace_state), ("congo=t61rcWkgMzE", ""));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_parent_is_as_if_it_were_not_there() {
    for (share, expected) in [("0%", 0), ("100%", 3)] {
        let collector = Collector::start().await;
        let service = Service::start(&collector.setting(share), RULES).await;
        for parent in ["", "nonsense", &SAMPLED[..54]] {
            assert_eq!(
                check(service.http, "/a", &[("traceparent", parent), ("tracestate", "a=b")]).await,
                200
            );
        }
        service.stop().await;
        let spans = spans(&collector.all());
        assert_eq!(spans.len(), expected);
        for span in spans {
            assert_eq!((span.parent_span_id.len(), &*span.trace_state, span.flags), (0, "", 0x101));
        }
    }
}
