//! A real Envoy, started from the configuration in `docs/envoy.md`, in front of a real API, with
//! the real service behind it.

mod costs;
mod imported;
mod page;
mod protects;
mod proxy;
mod response;
mod secured;
mod setup;
mod site;
mod unanswered;
mod withstands;

use crate::gateways::client::{self, Request};
use crate::gateways::upstream;

/// Limited to three a minute for every client by the policy of the page.
const SEARCH: Request<'static> = Request { method: "GET", target: "/search?q=saw", headers: &[], body: b"" };

/// The value of a parameter: 3 of `r` in `"search-3/min";r=3;t=60`.
fn parameter(field: &str, name: &str) -> Option<u64> {
    let mut parameters = field.split([';', ',']).filter_map(|parameter| parameter.trim().split_once('='));
    parameters.find(|(found, _)| *found == name).and_then(|(_, value)| value.parse().ok())
}
