//! Bearer token of requests.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

use crate::telemetry::auth_failures::AuthFailure;

/// Checks the token in a time that depends on its length only.
pub(crate) fn check(headers: &HeaderMap, token: Option<&str>) -> Result<(), AuthFailure> {
    let Some(token) = token else { return Ok(()) };
    let header = headers.get(AUTHORIZATION).ok_or(AuthFailure::Missing)?;
    match bearer(header.as_bytes()) {
        Some(header) if bool::from(header.ct_eq(token.as_bytes())) => Ok(()),
        _ => Err(AuthFailure::Wrong),
    }
}

/// Token of an `Authorization` header. The scheme is case-insensitive.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn only_the_token_opens() {
        let rows = [
            (None, false),
            (Some("Bearer s3cret"), true),
            (Some("bearer  s3cret"), true),
            (Some("Bearer S3cret"), false),
            (Some("Bearer s3cre"), false),
            (Some("Bearer s3crets"), false),
            (Some("Bearer "), false),
            (Some("Bearer"), false),
            (Some("s3cret"), false),
            (Some("Basic s3cret"), false),
        ];
        for (value, opens) in rows {
            let mut headers = HeaderMap::new();
            headers.extend(value.map(|value| (AUTHORIZATION, HeaderValue::from_static(value))));
            let failure = if value.is_some() { AuthFailure::Wrong } else { AuthFailure::Missing };
            let expected = if opens { Ok(()) } else { Err(failure) };
            assert_eq!(check(&headers, Some("s3cret")), expected, "{value:?}");
            assert!(check(&headers, None).is_ok());
        }
    }
}
