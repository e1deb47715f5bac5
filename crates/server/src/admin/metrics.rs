//! `GET /metrics`: all metrics, in the format that the client accepts.

use hyper::header::{ACCEPT, HeaderValue, VARY};
use hyper::{HeaderMap, StatusCode};
use slidegate::Clock;

use crate::protocols::problem::{self, Reply};
use crate::runtime::Runtime;
use crate::runtime::metrics::gather;
use crate::telemetry::metrics::accept;
use crate::telemetry::metrics::page::Page;

pub(super) fn metrics<C: Clock>(runtime: &Runtime<C>, headers: &HeaderMap) -> Reply {
    let format = accept::format(headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()));
    let mut page = Page::new(format);
    gather(runtime, &mut page);
    let mut reply = problem::reply(StatusCode::OK, format.content_type(), page.end());
    reply.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    reply
}
