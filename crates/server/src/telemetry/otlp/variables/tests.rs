use super::*;
use crate::telemetry::otlp::messages::{AnyValue, AttributeValue};

fn read(variables: &[(&'static str, &str)]) -> Result<Variables, OtlpError> {
    let get = |name: &'static str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Variables::read(get, "this one".to_owned())
}

fn resource_of(variables: &[(&'static str, &str)]) -> Vec<(String, String)> {
    let resource = read(variables).unwrap_or_else(|error| panic!("{error}")).resource;
    let text = |value: Option<AnyValue>| match value.and_then(|value| value.value) {
        Some(AttributeValue::Text(text)) => text,
        other => panic!("{other:?}"),
    };
    let mut all: Vec<_> = resource.into_iter().map(|one| (one.key, text(one.value))).collect();
    all.sort();
    all
}

#[test]
fn a_resource_has_a_name_a_version_and_an_instance() {
    let version = env!("CARGO_PKG_VERSION");
    type Pairs<'a> = &'a [(&'static str, &'a str)];
    let rows: [(Pairs<'_>, Pairs<'_>); 4] = [
        (&[], &[(INSTANCE, "this one"), (SERVICE_NAME, "slidegate"), (SERVICE_VERSION, version)]),
        (
            &[("OTEL_SERVICE_NAME", ""), (RESOURCE, "service.name=limits, deployment.environment=a%20b%2Cc")],
            &[
                ("deployment.environment", "a b,c"),
                (INSTANCE, "this one"),
                (SERVICE_NAME, "limits"),
                (SERVICE_VERSION, version),
            ],
        ),
        (
            &[("OTEL_SERVICE_NAME", "front"), (RESOURCE, "service.name=limits")],
            &[(INSTANCE, "this one"), (SERVICE_NAME, "front"), (SERVICE_VERSION, version)],
        ),
        (
            &[(RESOURCE, "service.instance.id=pod-7,service.version=2,")],
            &[(INSTANCE, "pod-7"), (SERVICE_NAME, "slidegate"), (SERVICE_VERSION, "2")],
        ),
    ];
    for (variables, expected) in rows {
        let found = resource_of(variables);
        let found: Vec<_> = found.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(found, expected, "{variables:?}");
    }
}

#[test]
fn headers_time_and_whether_at_all() {
    let read = |variables| read(variables).unwrap_or_else(|error| panic!("{error}"));
    let none = read(&[]);
    assert_eq!((none.disabled, none.timeout, none.headers.len()), (false, TIMEOUT, 0));
    let all = read(&[
        (HEADERS, "authorization=Bearer%20abc,x-tenant = seven"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ("OTEL_SDK_DISABLED", "TRUE"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem"),
    ]);
    assert_eq!((all.disabled, all.timeout), (true, Duration::from_millis(250)));
    assert_eq!(
        (&all.headers["authorization"], &all.headers["x-tenant"]),
        (&"Bearer abc".parse().expect("a value"), &"seven".parse().expect("a value"))
    );
    assert_eq!(all.certificate, Some("ca.pem".into()));
}

#[test]
fn invalid_variables_are_errors() {
    let rows = [
        (HEADERS, "authorization"),
        (HEADERS, "a b=c"),
        (HEADERS, "a=%0a"),
        (HEADERS, "=c"),
        (RESOURCE, "a=%ff"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
    ];
    for (name, value) in rows {
        let error = read(&[(name, value)]).err().unwrap_or_else(|| panic!("{name}={value} was read"));
        assert!(error.to_string().starts_with(name), "{error}");
    }
}
