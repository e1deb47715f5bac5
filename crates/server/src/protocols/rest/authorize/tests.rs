//! Headers of a proxy, and their values.

use super::*;
use hyper::header::HeaderValue;

fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    lines.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).fold(
        HeaderMap::new(),
        |mut headers, (name, value)| {
            headers.append(name, value);
            headers
        },
    )
}

#[test]
fn the_path_of_what_proxies_send() {
    let rows = [
        ("/a/b?c=d", "/a/b"),
        ("/a#b", "/a#b"),
        ("/", "/"),
        ("?x", "/"),
        ("https://example.com/a/b?c", "/a/b"),
        ("https://example.com", "/"),
        ("https://example.com?x=/y", "/"),
        ("/go?to=https://example.com/a", "/go"),
        ("/go/https://example.com/a", "/go/https://example.com/a"),
    ];
    for (uri, path) in rows {
        assert_eq!(target_path(uri), path, "{uri}");
    }
}

#[test]
fn the_host_of_what_proxies_send() {
    let rows = [
        ("example.com", "example.com"),
        ("Example.COM:8443", "example.com"),
        ("example.com.", "example.com"),
        ("example.com.:80", "example.com"),
        ("[2001:DB8::1]:80", "[2001:db8::1]"),
        ("[2001:db8::1]", "[2001:db8::1]"),
    ];
    for (host, name) in rows {
        assert_eq!(host_name(host), name, "{host}");
    }
}

#[test]
fn proxies_may_say_it_under_either_name_but_not_both_differently() {
    let read = |headers: &HeaderMap| {
        forwarded(headers, &URI, |uri| target_path(uri).to_owned().into())
            .map(|path| path.map(Cow::into_owned))
            .map_err(drop)
    };
    let rows = [
        (headers(&[]), Ok(None)),
        (headers(&[("x-forwarded-uri", "")]), Ok(None)),
        (headers(&[("x-forwarded-uri", "/a?x")]), Ok(Some("/a"))),
        (headers(&[("x-original-uri", "/a")]), Ok(Some("/a"))),
        (headers(&[("x-original-url", "http://h/a")]), Ok(Some("/a"))),
        (headers(&[("x-forwarded-uri", "/a"), ("x-original-url", "http://h/a")]), Ok(Some("/a"))),
        (headers(&[("x-forwarded-uri", "/a"), ("x-original-uri", "/b")]), Err(())),
        (headers(&[("x-forwarded-uri", "/a"), ("x-forwarded-uri", "/a")]), Err(())),
    ];
    for (headers, expected) in rows {
        assert_eq!(read(&headers), expected.map(|path| path.map(str::to_owned)), "{headers:?}");
    }
}

#[test]
fn parameters() {
    let parse =
        |query| Parameters::parse(Some(query)).map(|p| (p.cost, p.deny_status.as_u16())).map_err(drop);
    let rows = [
        ("", Ok((1, 429))),
        ("deny_status=403&cost=0", Ok((0, 403))),
        ("cost=18446744073709551615", Ok((u64::MAX, 429))),
        ("cost=18446744073709551616", Err(())),
        ("cost=+1", Err(())),
        ("cost=-1", Err(())),
        ("cost=", Err(())),
        ("deny_status=200", Err(())),
        ("deny_status=", Err(())),
        ("denystatus=403", Err(())),
    ];
    for (query, expected) in rows {
        assert_eq!(parse(query), expected, "{query}");
    }
}
