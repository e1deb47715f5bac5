//! Ad hoc limits: limits that come with a request instead of a rule.

use std::time::Duration;

use serde::Deserialize;
use slidegate::{Limit, LimitError};

/// Algorithm of an ad hoc limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AdHocAlgorithm {
    #[default]
    Log,
    Counter,
    Fixed,
    Gcra,
}

impl AdHocAlgorithm {
    /// Limit of this algorithm. `burst` is for GCRA only; its default is the quota.
    pub(crate) fn limit(self, quota: u64, window: Duration, burst: Option<u64>) -> Result<Limit, LimitError> {
        let log = Limit::new(quota, window)?;
        match self {
            Self::Log => Ok(log),
            Self::Counter => log.counter(),
            Self::Fixed => log.fixed(),
            Self::Gcra => log.gcra(burst.unwrap_or(quota)),
        }
    }
}
