//! `/metrics`: what can be counted, as Prometheus reads it. It is put together when it is asked for, from what there is anyhow.
//!
//! No client library of Prometheus is in it: the numbers are kept where they arise, and all that is left is to write them.

mod connections;
mod decisions;
mod exporters;
mod permits;
mod policy;
mod process;
#[cfg(test)]
mod reference;
mod store;

use hyper::header::{ACCEPT, HeaderValue, VARY};
use hyper::{HeaderMap, StatusCode};
use slidegate::Clock;

use super::app::App;
use crate::protocols::problem::{Reply, reply as replied};
use crate::telemetry::metrics::accept;
use crate::telemetry::metrics::family::Sink;
use crate::telemetry::metrics::page::{Format, Page};

/// A scrape in the format that the client asks for.
pub(crate) fn reply<C: Clock>(app: &App<C>, headers: &HeaderMap) -> Reply {
    let format = accept::format(headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()));
    let mut reply = replied(StatusCode::OK, format.content_type(), text(app, format));
    reply.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    reply
}

/// The whole text.
fn text<C: Clock>(app: &App<C>, format: Format) -> String {
    let mut page = Page::new(format);
    gather(app, &mut page);
    page.end()
}

/// Gives away all that there is to know now, metric by metric.
pub(crate) fn gather<C: Clock>(app: &App<C>, sink: &mut impl Sink) {
    process::gather(sink, app);
    decisions::gather(sink, app);
    policy::gather(sink, app);
    permits::gather(sink, app);
    store::gather(sink, app.gate().store());
    connections::gather(sink, app);
    exporters::gather(sink, app);
}
