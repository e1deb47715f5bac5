//! Spans, and what they say.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;

use crate::otlp::collector::Received;

/// Attributes as texts.
pub(crate) fn texts(attributes: &[KeyValue]) -> BTreeMap<&str, String> {
    let text = |one: &KeyValue| match one.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{}: {other:?}", one.key),
    };
    attributes.iter().map(|one| (one.key.as_str(), text(one))).collect()
}

/// All spans, in the order in which they came, each held against what OpenTelemetry asks of any.
pub(crate) fn spans(received: &[Received]) -> Vec<Span> {
    let mut all = Vec::new();
    for request in received.iter().filter_map(Received::traces) {
        for resource in request.resource_spans {
            let of = texts(&resource.resource.as_ref().expect("a resource").attributes);
            assert_eq!(of["service.name"], "slidegate");
            assert_eq!(
                (&*of["service.version"], of["service.instance.id"].len()),
                (env!("CARGO_PKG_VERSION"), 36)
            );
            for scope in resource.scope_spans {
                assert_eq!(scope.scope.as_ref().expect("a scope").name, "slidegate-server");
                all.extend(scope.spans);
            }
        }
    }
    for span in &all {
        assert!(span.trace_id.len() == 16 && span.trace_id.iter().any(|byte| *byte != 0));
        assert!(span.span_id.len() == 8 && span.span_id.iter().any(|byte| *byte != 0));
        assert!(span.start_time_unix_nano > 0 && span.start_time_unix_nano <= span.end_time_unix_nano);
        assert_eq!((span.kind, span.flags & 0x101), (2, 0x101), "a server's, and kept");
    }
    let mut ids: Vec<_> = all.iter().map(|span| &span.span_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all.len(), "no two have one id");
    all
}
