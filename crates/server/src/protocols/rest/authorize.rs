//! `/v1/authorize`: forward authentication. A proxy describes a request in headers, and passes it
//! on if the response is 200.

use std::borrow::Cow;
use std::net::IpAddr;

use hyper::header::HeaderName;
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use slidegate::http::{client_address, host_name, target_path};
use slidegate::{CheckRequest, Clock, Request};

use super::answer;
use crate::protocols::problem::{Problem, Reply};
use crate::protocols::query;
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

const METHOD: [HeaderName; 2] =
    [HeaderName::from_static("x-forwarded-method"), HeaderName::from_static("x-original-method")];
const URI: [HeaderName; 3] = [
    HeaderName::from_static("x-forwarded-uri"),
    HeaderName::from_static("x-original-uri"),
    HeaderName::from_static("x-original-url"),
];
const HOST: [HeaderName; 1] = [HeaderName::from_static("x-forwarded-host")];
const SCHEME: [HeaderName; 1] = [HeaderName::from_static("x-forwarded-proto")];

pub(crate) async fn authorize<C: Clock>(
    decider: &Decider<C>,
    peer: IpAddr,
    head: &Parts,
    id: &str,
    trace: Trace,
) -> Result<Reply, Problem> {
    let parameters = Parameters::parse(head.uri.query())?;
    let settings = decider.settings();
    let mut request = Request::new().with_id(id).cost(parameters.cost);
    if let Some(ip) = client_address(peer, &head.headers, &settings.trusted_proxies) {
        request.set("ip", ip.to_string());
    }
    for (attribute, header) in &settings.attributes {
        if let Some(value) = single(&head.headers, header)? {
            request.set(&**attribute, value);
        }
    }
    set_default(&mut request, "method", forwarded(&head.headers, &METHOD, |method| method.into())?);
    set_default(&mut request, "path", forwarded(&head.headers, &URI, |uri| target_path(uri).into())?);
    set_default(&mut request, "host", forwarded(&head.headers, &HOST, host_name)?);
    set_default(
        &mut request,
        "scheme",
        forwarded(&head.headers, &SCHEME, |scheme| scheme.to_ascii_lowercase().into())?,
    );
    request.check().map_err(|error| Problem::bad_request(error.to_string()))?;
    let answer = decider.check(&CheckRequest::from(request), trace).await?;
    Ok(answer::pass_or_refuse(decider, &answer, parameters.deny_status))
}

/// Sets an attribute, unless the settings read it from a header of its own.
fn set_default<'a>(request: &mut Request<'a>, name: &'static str, value: Option<Cow<'a, str>>) {
    if let Some(value) = value
        && request.get(name).is_none()
    {
        request.set(name, value);
    }
}

/// Value that the proxy sends under one of several names. If two of them differ, the client sent
/// one and the proxy passed it on and set the other: the client must not be able to choose.
fn forwarded<'h>(
    headers: &'h HeaderMap,
    names: &[HeaderName],
    read: impl Fn(&'h str) -> Cow<'h, str>,
) -> Result<Option<Cow<'h, str>>, Problem> {
    let mut first: Option<(&HeaderName, Cow<'h, str>)> = None;
    for name in names {
        let Some(value) = single(headers, name)?.map(&read) else { continue };
        match &first {
            Some((other, first_value)) if *first_value != value => {
                let detail =
                    format!("{other} and {name} contradict each other: let the proxy remove one of them");
                return Err(Problem::bad_request(detail));
            }
            Some(_) => {}
            None => first = Some((name, value)),
        }
    }
    Ok(first.map(|(_, value)| value))
}

/// Value of a header that occurs once. Of two values the API behind the proxy might use the other.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Problem::bad_request(format!("the header {name} is given twice")));
    }
    let not_utf8 = |_| Problem::bad_request(format!("the header {name} is not UTF-8"));
    let value = str::from_utf8(value.as_bytes()).map_err(not_utf8)?;
    Ok(Some(value).filter(|value| !value.is_empty()))
}

struct Parameters {
    cost: u64,
    deny_status: StatusCode,
}

impl Parameters {
    fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let mut parsed = Self { cost: 1, deny_status: StatusCode::TOO_MANY_REQUESTS };
        for (name, value) in query::parse(query)? {
            match &*name {
                "cost" => parsed.cost = whole(&value)?,
                "deny_status" => parsed.deny_status = deny_status(&value)?,
                _ => return Err(query::unknown(&name, "cost and deny_status")),
            }
        }
        Ok(parsed)
    }
}

fn whole(text: &str) -> Result<u64, Problem> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| Problem::bad_request(format!("cost is a whole number from 0 to {}", u64::MAX)))
}

fn deny_status(text: &str) -> Result<StatusCode, Problem> {
    match text {
        "401" => Ok(StatusCode::UNAUTHORIZED),
        "403" => Ok(StatusCode::FORBIDDEN),
        "429" => Ok(StatusCode::TOO_MANY_REQUESTS),
        _ => Err(Problem::bad_request("deny_status is 401, 403 or 429")),
    }
}

#[cfg(test)]
mod tests;
