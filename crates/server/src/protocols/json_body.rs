//! JSON bodies: parsed, with errors that name the position.

use serde::Deserialize;

use super::problem::Problem;

/// Parses a JSON object.
pub(crate) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    // Otherwise a list would be read as the members in their order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::bad_request(not_an_object(body)));
    }
    serde_json::from_slice(body).map_err(|_| Problem::bad_request(explain::<T>(body)))
}

/// Whole number that is written as a fraction, such as 3.0, if it is one and exact.
pub(crate) fn whole(number: f64) -> Option<u64> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    ((0.0..=EXACT).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

fn not_an_object(body: &[u8]) -> String {
    match (body, str::from_utf8(body), serde_json::from_slice::<serde::de::IgnoredAny>(body)) {
        ([], ..) => "empty body, expected a JSON object".to_owned(),
        (_, Err(error), _) => not_utf8(&error),
        (_, _, Err(error)) => at(&error, &error.to_string()),
        _ => "expected a JSON object".to_owned(),
    }
}

/// Reason why a body is not a `T`, with the position. It is parsed once more for that, so that
/// valid bodies cost nothing more.
fn explain<'a, T: Deserialize<'a>>(body: &'a [u8]) -> String {
    if let Err(error) = str::from_utf8(body) {
        return not_utf8(&error);
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let error = match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Ok(_) => return reader.end().map_or_else(|error| at(&error, &error.to_string()), |()| String::new()),
        Err(error) => error,
    };
    let path = error.path().to_string();
    let inner = error.into_inner();
    let text = inner.to_string();
    if path == "." || inner.is_syntax() || inner.is_eof() {
        at(&inner, &text)
    } else {
        at(&inner, &format!("{path}: {text}"))
    }
}

/// Message with the position, which `serde_json` puts at the end of `text`.
fn at(error: &serde_json::Error, text: &str) -> String {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let what = text.strip_suffix(&position).unwrap_or(text);
    format!("invalid body at line {}, column {}: {what}", error.line(), error.column())
}

fn not_utf8(error: &std::str::Utf8Error) -> String {
    format!("invalid UTF-8 in the body after byte {}", error.valid_up_to())
}
