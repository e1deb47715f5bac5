//! Deadline of a call: `grpc-timeout`.

use std::time::Duration;

use super::status::Status;
use hyper::HeaderMap;

/// Deadline in the headers, if there is one.
pub(super) fn of(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let Some(value) = headers.get("grpc-timeout") else { return Ok(None) };
    let wrong = || Status::invalid_argument("grpc-timeout is up to eight digits and one of H, M, S, m, u, n");
    parse(value.as_bytes()).map(Some).ok_or_else(wrong)
}

fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    Some(match unit {
        b'H' => Duration::from_secs(number * 3_600),
        b'M' => Duration::from_secs(number * 60),
        b'S' => Duration::from_secs(number),
        b'm' => Duration::from_millis(number),
        b'u' => Duration::from_micros(number),
        b'n' => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_grpc_writes_it() {
        let rows = [
            ("1H", Some(Duration::from_secs(3_600))),
            ("2M", Some(Duration::from_secs(120))),
            ("20m", Some(Duration::from_millis(20))),
            ("0n", Some(Duration::ZERO)),
            ("00000250u", Some(Duration::from_micros(250))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3_600))),
            ("999999999S", None),
            ("S", None),
            ("", None),
            ("5", None),
            ("5s", None),
            ("-5S", None),
            ("+5S", None),
            ("5 S", None),
        ];
        for (value, timeout) in rows {
            assert_eq!(parse(value.as_bytes()), timeout, "{value:?}");
        }
    }
}
