use hyper::header::HeaderValue;

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn expected(sampled: bool) -> Option<Parent> {
    let trace_id = u128::from_str_radix(TRACE, 16).expect("hex").to_be_bytes();
    let span_id = u64::from_str_radix(SPAN, 16).expect("hex").to_be_bytes();
    Some(Parent { trace_id, span_id, sampled })
}

#[test]
fn parents_are_read_as_w3c_has_them() {
    let rows = [
        (format!("00-{TRACE}-{SPAN}-01"), expected(true)),
        (format!("00-{TRACE}-{SPAN}-00"), expected(false)),
        (format!("00-{TRACE}-{SPAN}-03"), expected(true)),
        (format!("00-{TRACE}-{SPAN}-fe"), expected(false)),
        (format!("01-{TRACE}-{SPAN}-01"), expected(true)),
        (format!("cc-{TRACE}-{SPAN}-01-what-comes-later"), expected(true)),
        (format!("cc-{TRACE}-{SPAN}-01."), None),
        (format!("ff-{TRACE}-{SPAN}-01"), None),
        (format!("00-{TRACE}-{SPAN}-01-more"), None),
        (format!("00-{TRACE}-{SPAN}-1"), None),
        (format!("00-{TRACE}-{SPAN}-0x"), None),
        (format!("00-{TRACE}_{SPAN}-01"), None),
        (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
        (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
        (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
        (String::new(), None),
        ("00".to_owned(), None),
    ];
    for (text, expected) in rows {
        assert_eq!(read(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn of_two_parents_none_counts() {
    let mut headers = HeaderMap::new();
    let one = HeaderValue::from_str(&format!("00-{TRACE}-{SPAN}-01")).expect("a value");
    headers.append(PARENT, one.clone());
    assert_eq!(parent(&headers), expected(true));
    headers.append(PARENT, one);
    assert_eq!(parent(&headers), None);
}

#[test]
fn states_are_joined_up_to_a_bound() {
    let mut headers = HeaderMap::new();
    assert_eq!(state(&headers), "");
    headers.append(STATE, HeaderValue::from_static("ot=th:c"));
    headers.append(STATE, HeaderValue::from_static("congo=t61rcWkgMzE"));
    assert_eq!(state(&headers), "ot=th:c,congo=t61rcWkgMzE");
    headers.append(STATE, HeaderValue::from_str(&"x".repeat(MAX_STATE_BYTES)).expect("a value"));
    assert_eq!(state(&headers), "");
}
