//! Metrics: their data model and their text formats.

pub(crate) mod accept;
pub(crate) mod family;
pub(crate) mod page;
