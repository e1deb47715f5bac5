//! A collector gets the numbers that `/metrics` has.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint};

use crate::otlp::collector::{Collector, Received};
use crate::otlp::http::{check, send};
use crate::otlp::service::Service;
use crate::otlp::spans::texts;

const RULES: &str = "
rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [2/min] }
  - { name: watched, match: { path: '/a/{*rest}' }, key: [ip], limits: [1/min], mode: observe }
";
/// What changes between a scrape and the end.
const PASSING: [&str; 4] =
    ["slidegate_ready", "slidegate_connections", "slidegate_decision_duration", "slidegate_otlp"];

/// Samples by their name with labels.
type Samples = BTreeMap<String, f64>;

/// Under the names that they get on the way to Prometheus: dots become underscores, units and
/// `_total` are added.
fn translated(metrics: &[Metric]) -> Samples {
    let mut all = Samples::new();
    for metric in metrics {
        let unit = match &*metric.unit {
            "" => "",
            "s" => "_seconds",
            "By" => "_bytes",
            other => panic!("{}: {other}", metric.name),
        };
        assert!(!metric.description.is_empty(), "{}", metric.name);
        let name = metric.name.replace('.', "_") + unit;
        let mut put = |name: &str, point: &NumberDataPoint| {
            let value = match point.value {
                Some(Value::AsInt(number)) => number as f64,
                Some(Value::AsDouble(number)) => number,
                None => panic!("{name} has no value"),
            };
            let labels =
                texts(&point.attributes).into_iter().map(|(label, text)| format!("{label}={text:?}"));
            let labels: Vec<_> = labels.collect();
            assert!(all.insert(format!("{name}{labels:?}"), value).is_none(), "{name}{labels:?} comes twice");
        };
        match metric.data.as_ref().expect("data") {
            Data::Sum(sum) => {
                assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "{name}");
                for point in &sum.data_points {
                    assert!(
                        0 < point.start_time_unix_nano && point.start_time_unix_nano <= point.time_unix_nano
                    );
                    put(&format!("{name}_total"), point);
                }
            }
            Data::Gauge(gauge) => gauge.data_points.iter().for_each(|point| put(&name, point)),
            Data::Histogram(histogram) => {
                let [point] = &*histogram.data_points else { panic!("{name} has one point") };
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
                assert!(point.explicit_bounds.is_sorted_by(|one, next| one < next));
                all.insert(format!("{name}_count[]"), point.count as f64);
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    all
}

/// A scrape, in the same form.
fn scraped(text: &str) -> Samples {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.contains("_bucket{"));
    let samples = lines.filter(|line| !line.contains("_sum ")).map(|line| {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        let (name, labels) = name.trim_end_matches('}').split_once('{').unwrap_or((name, ""));
        let mut labels: Vec<_> = labels.split_terminator(',').map(str::to_owned).collect();
        labels.sort();
        (format!("{name}{labels:?}"), value.parse().expect("a number"))
    });
    samples.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn they_are_the_same_numbers_under_the_same_names() {
    let collector = Collector::start().await;
    let service = Service::start(&collector.setting("0%"), RULES).await;
    for path in ["/login", "/login", "/login", "/a/b", "/a/c", "/elsewhere"] {
        check(service.http, path, &[]).await;
    }
    let scrape = scraped(&send(service.admin, "GET /metrics", &[], "").await.1);
    service.stop().await;
    let received = collector.all();
    let mut requests = received.iter().filter_map(Received::metrics);
    let request = requests.next().expect("the numbers at the end");
    assert!(requests.next().is_none());
    let [resource] = &*request.resource_metrics else { panic!("one resource") };
    assert_eq!(
        texts(&resource.resource.as_ref().expect("a resource").attributes)["service.name"],
        "slidegate"
    );
    let [scope] = &*resource.scope_metrics else { panic!("one scope") };
    let sent = translated(&scope.metrics);
    let names = |samples: &Samples| samples.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&sent), names(&scrape));
    for (name, value) in &scrape {
        if PASSING.iter().all(|passing| !name.starts_with(passing)) {
            assert_eq!(sent[name], *value, "{name}");
        }
    }
}
