//! Query of a URL: the part after the question mark.

use std::borrow::Cow;

use percent_encoding::percent_decode;

use super::problem::Problem;

/// Maximum number of parameters of any endpoint.
const MAX_PARAMETERS: usize = 8;

/// Name and value, decoded.
type Parameter<'a> = (Cow<'a, str>, Cow<'a, str>);

/// All parameters; the same name twice is an error.
pub(crate) fn parse(query: Option<&str>) -> Result<Vec<Parameter<'_>>, Problem> {
    let mut parameters: Vec<Parameter<'_>> = Vec::new();
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        if parameters.iter().any(|(other, _)| *other == name) {
            return Err(Problem::bad_request(format!("the parameter {name:?} is given twice")));
        }
        if parameters.len() == MAX_PARAMETERS {
            return Err(Problem::bad_request(format!("there are more than {MAX_PARAMETERS} parameters")));
        }
        parameters.push((name, value));
    }
    Ok(parameters)
}

/// Problem of an unknown parameter.
pub(crate) fn unknown(name: &str, expected: &str) -> Problem {
    Problem::bad_request(format!("unknown parameter {name:?}, expected {expected}"))
}

fn decode(text: &str) -> Result<Cow<'_, str>, Problem> {
    let bad = || Problem::bad_request(format!("{text:?} is not UTF-8 when decoded"));
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode(spaced.as_bytes()).decode_utf8().map_err(|_| bad())?;
        return Ok(Cow::Owned(decoded.into_owned()));
    }
    percent_decode(text.as_bytes()).decode_utf8().map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let rows = [
            ("", vec![]),
            ("a=1", vec![("a", "1")]),
            ("a=1&b=x%20y+z&&c", vec![("a", "1"), ("b", "x y z"), ("c", "")]),
            ("%C3%A4=%26%3D%2B", vec![("ä", "&=+")]),
            ("a=b=c", vec![("a", "b=c")]),
        ];
        for (query, expected) in rows {
            let parsed = parse(Some(query)).expect(query);
            let parsed: Vec<_> = parsed.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(parsed, expected, "{query}");
        }
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let many = "a=1&b=&c=&d=&e=&f=&g=&h=&i=";
        for query in ["a=1&a=2", "a=%FF", "%FF=1", "a=1&%61=2", many] {
            assert!(parse(Some(query)).is_err(), "{query}");
        }
    }
}
