//! Check API: the HTTP endpoints of the check listener.

pub(crate) mod answer;
pub(crate) mod authorize;
pub(crate) mod check;
pub(crate) mod denial;
pub(crate) mod limit;
pub(crate) mod number;
pub(crate) mod openapi;
pub(crate) mod rlaas;
pub(crate) mod routes;
pub(crate) mod settle;
