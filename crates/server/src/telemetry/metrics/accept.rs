//! Content negotiation of `/metrics`.

use super::page::MetricsFormat;

/// Format by the `Accept` header: OpenMetrics if it is named and nothing is preferred to it,
/// otherwise the Prometheus text format.
pub(crate) fn format<'a>(accept: impl IntoIterator<Item = &'a str>) -> MetricsFormat {
    let (mut classic, mut open) = (0, 0);
    for range in accept.into_iter().flat_map(|value| value.split(',')) {
        let Some(Range { name, version, weight }) = Range::parse(range) else { continue };
        match (name.to_ascii_lowercase().as_str(), version) {
            ("application/openmetrics-text", None | Some("1.0.0")) => open = open.max(weight),
            ("text/plain", None | Some("0.0.4")) | ("text/*" | "*/*", _) => classic = classic.max(weight),
            _ => {}
        }
    }
    if open > 0 && open >= classic { MetricsFormat::OpenMetrics } else { MetricsFormat::Text }
}

/// Media range of an `Accept` header.
struct Range<'a> {
    name: &'a str,
    version: Option<&'a str>,
    /// Weight in thousandths.
    weight: u32,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let mut range = Self { name: parts.next()?, version: None, weight: 1_000 };
        for part in parts {
            let (name, value) = part.split_once('=')?;
            match name.trim_end().to_ascii_lowercase().as_str() {
                "version" => range.version = Some(value.trim().trim_matches('"')),
                "q" => range.weight = weight(value.trim())?,
                _ => {}
            }
        }
        Some(range)
    }
}

/// Weight: `0` to `1`, with at most three decimals.
fn weight(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if !matches!(whole, "0" | "1") || part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths: u32 = format!("{whole}{part:0<3}").parse().ok()?;
    Some(thousandths.min(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_open_metrics_gets_it() {
        let rows: [(&[&str], MetricsFormat); 16] = [
            (&[], MetricsFormat::Text),
            (&["*/*"], MetricsFormat::Text),
            (&["text/html,application/xhtml+xml"], MetricsFormat::Text),
            (&["text/plain"], MetricsFormat::Text),
            (&["application/openmetrics-text"], MetricsFormat::OpenMetrics),
            (&["Application/OpenMetrics-Text; Version=1.0.0"], MetricsFormat::OpenMetrics),
            (&["application/openmetrics-text; version=\"1.0.0\""], MetricsFormat::OpenMetrics),
            (&["application/openmetrics-text; version=2.0.0"], MetricsFormat::Text),
            (&["text/plain", "application/openmetrics-text"], MetricsFormat::OpenMetrics),
            (&["text/plain;q=0.9, application/openmetrics-text;q=0.5"], MetricsFormat::Text),
            (&["application/openmetrics-text;q=0, */*;q=0.1"], MetricsFormat::Text),
            (&["application/openmetrics-text;q=nonsense"], MetricsFormat::Text),
            (&["application/openmetrics-text;q=2"], MetricsFormat::Text),
            (&[";;;,,,=;q=1", "\u{e9}"], MetricsFormat::Text),
            // What Prometheus 2 and 3 send.
            (
                &[
                    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                ],
                MetricsFormat::OpenMetrics,
            ),
            (
                &[
                    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                ],
                MetricsFormat::OpenMetrics,
            ),
        ];
        for (accept, expected) in rows {
            assert_eq!(format(accept.iter().copied()), expected, "{accept:?}");
        }
    }
}
