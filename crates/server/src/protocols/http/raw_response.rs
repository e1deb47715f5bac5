//! Raw response to an incomplete request, written without hyper.

use std::io::Write;

use slidegate::Clock;

use super::handler::HttpConnection;
use crate::net::connections::Order;
use crate::protocols::overload;
use crate::protocols::problem::Problem;
use crate::protocols::request_id::X_REQUEST_ID;

impl Problem {
    /// Problem of a request that is interrupted.
    pub(crate) fn interrupted(order: Order) -> Self {
        match order {
            Order::Go | Order::Cut => Self::too_slow(),
            Order::Stop | Order::End => Self::overloaded("the server is shutting down; retry"),
        }
    }
}

/// Complete response to a request of which only a part of the head was read.
pub(crate) fn bytes<C: Clock>(connection: &HttpConnection<C>) -> Vec<u8> {
    let problem = if connection.caller.is_surplus {
        overload::problem()
    } else {
        Problem::interrupted(connection.progress.order())
    };
    let (status, headers, body) = problem.into_parts();
    let mut out = Vec::with_capacity(256 + body.len());
    let reason = status.canonical_reason().unwrap_or_default();
    // A write into memory does not fail.
    let _ = write!(out, "HTTP/1.1 {} {reason}\r\nconnection: close\r\n", status.as_str());
    for (name, value) in headers.iter().chain([(&X_REQUEST_ID, &connection.ids.next())]) {
        out.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    let _ = write!(out, "content-length: {}\r\n\r\n", body.len());
    out.extend_from_slice(&body);
    out
}
