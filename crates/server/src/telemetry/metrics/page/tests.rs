use super::*;
use crate::telemetry::metrics::family::{Family, HistogramBucket};

static REQUESTS: Family<2> = Family::counter("asked", ["who", "what"], "What was asked");
static OPEN: Family<0> = Family::gauge("open", [], "1 while it is open");
static BUILD: Family<1> = Family::info("build", ["version"], "The version");
static TOOK: Family<0> = Family::histogram("took_seconds", "How long it took");

fn page(format: MetricsFormat) -> String {
    let mut page = Page::new(format);
    REQUESTS.put(&mut page, ["a", "b"], 7_u64);
    REQUESTS.put(&mut page, ["quo\"te", "back\\slash\nline\r\u{1F980}"], u64::MAX);
    OPEN.put(&mut page, [], true);
    BUILD.put(&mut page, ["1.0"], 1_u64);
    let buckets = [(1_000_000, "0.001", 2), (1_000_000_000, "1.0", 5)];
    let buckets = buckets.map(|(upper_ns, upper, count)| HistogramBucket { upper_ns, upper, count });
    TOOK.put_spread(&mut page, Spread { buckets: &buckets, count: 6, sum_ns: 2_000_500_000 });
    page.end()
}

#[test]
fn the_classic_format() {
    let expected = r#"# HELP slidegate_asked_total What was asked
# TYPE slidegate_asked_total counter
slidegate_asked_total{who="a",what="b"} 7
slidegate_asked_total{who="quo\"te",what="back\\slash\nline#"#;
    let text = page(MetricsFormat::Text);
    let (head, rest) = text.split_once('\r').expect("a carriage return stays as it is");
    assert_eq!(head, expected.trim_end_matches('#'));
    let expected = "\u{1F980}\"} 18446744073709551615
# HELP slidegate_open 1 while it is open
# TYPE slidegate_open gauge
slidegate_open 1
# HELP slidegate_build_info The version
# TYPE slidegate_build_info gauge
slidegate_build_info{version=\"1.0\"} 1
# HELP slidegate_took_seconds How long it took
# TYPE slidegate_took_seconds histogram
slidegate_took_seconds_bucket{le=\"0.001\"} 2
slidegate_took_seconds_bucket{le=\"1.0\"} 5
slidegate_took_seconds_bucket{le=\"+Inf\"} 6
slidegate_took_seconds_sum 2.0005
slidegate_took_seconds_count 6
";
    assert_eq!(rest, expected);
}

/// The samples are the same; what is said of them is not.
#[test]
fn open_metrics() {
    let (classic, open) = (page(MetricsFormat::Text), page(MetricsFormat::OpenMetrics));
    let expected = classic
        .replace("# HELP slidegate_asked_total", "# HELP slidegate_asked")
        .replace("# TYPE slidegate_asked_total", "# TYPE slidegate_asked")
        .replace("# HELP slidegate_build_info", "# HELP slidegate_build")
        .replace("# TYPE slidegate_build_info gauge", "# TYPE slidegate_build info");
    assert_eq!(open, expected + "# EOF\n");
}

#[test]
fn seconds_are_exact() {
    let ms = |ms: u64| Seconds { ns: u128::from(ms) * 1_000_000 }.to_string();
    for (text, expected) in [
        (ms(0), "0"),
        (ms(100_000), "100"),
        (ms(1_745_000_103_050), "1745000103.05"),
        (ms(u64::MAX), "18446744073709551.615"),
        (Seconds { ns: 1 }.to_string(), "0.000000001"),
        (Seconds { ns: 10_000_000_010 }.to_string(), "10.00000001"),
    ] {
        assert_eq!(text, expected);
    }
}
