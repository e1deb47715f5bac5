//! Warnings of certificates that expire.

use super::validity::Validity;

const DAY_MS: u64 = 86_400_000;
/// Time before expiry from which warnings are logged.
const NOTICE_MS: u64 = 14 * DAY_MS;

/// Logs a warning, if there is one.
pub(super) fn warn(setting: &'static str, validity: Option<Validity>, now_ms: u64) {
    if let Some(warning) = validity.and_then(|validity| text(validity, now_ms)) {
        tracing::warn!(setting, "{warning}");
    }
}

/// Warning about a certificate, if there is one.
fn text(validity: Validity, now_ms: u64) -> Option<String> {
    let left_ms = validity.not_after_ms.saturating_sub(now_ms);
    let unit = |ms: u64| match ms / DAY_MS {
        0 => "less than a day".to_owned(),
        1 => "a day".to_owned(),
        days => format!("{days} days"),
    };
    if validity.not_after_ms < now_ms {
        let since = unit(now_ms - validity.not_after_ms);
        Some(format!("the certificate expired {since} ago: clients refuse it; put a new one in its file"))
    } else if now_ms < validity.not_before_ms {
        let until = unit(validity.not_before_ms - now_ms);
        Some(format!("the certificate is not valid for another {until}: clients refuse it until then"))
    } else if left_ms < NOTICE_MS {
        Some(format!("the certificate expires in {}: put a new one in its file", unit(left_ms)))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_spoken_of_in_time() {
        let now_ms = 20_000 * DAY_MS;
        let rows = [
            (0, 20_014, None),
            (0, 20_013, Some("expires in 13 days")),
            (0, 20_001, Some("expires in a day")),
            (0, 20_000, Some("expires in less than a day")),
            (0, 19_999, Some("expired a day ago")),
            (0, 19_000, Some("expired 1000 days ago")),
            (20_000, 21_000, None),
            (20_002, 21_000, Some("not valid for another 2 days")),
        ];
        for (from, until, expected) in rows {
            let validity = Validity { not_before_ms: from * DAY_MS, not_after_ms: until * DAY_MS };
            match (text(validity, now_ms), expected) {
                (None, None) => {}
                (Some(text), Some(expected)) if text.contains(expected) => {}
                (text, expected) => panic!("{from} {until}: {text:?}, not {expected:?}"),
            }
        }
    }
}
