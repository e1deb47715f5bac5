//! Reader of limits: `5/min`, or the long form.

use std::time::Duration;

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::{DurationMs, LimitEntry, Spanned};
use super::super::yaml::{Kind, Node};
use super::Read;
use super::fields::{Fields, expected};
use super::scalars::word;
use slidegate_core::{Limit, LimitError, MAX_ENTRIES, Resolution};

impl Read for LimitEntry {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let (limit, name) = match &node.kind {
            Kind::Scalar { text, .. } if !node.is_null() => (short(node, text, diagnostics), None),
            Kind::Mapping(_) => {
                let fields = Fields::of(node, "a limit", diagnostics)?;
                let long = Long { fields, diagnostics };
                let name = long.fields.get::<String>("name");
                let limit = if long.is_in_flight() { long.in_flight() } else { long.rate() };
                long.fields.done();
                (limit, name)
            }
            _ => {
                let help = "write `5/min`, or `{ quota: 5, window: 1min }`";
                expected(node, "a limit", help, diagnostics);
                (None, None)
            }
        };
        let limit = match &name {
            Some(name) => limit.map(|limit| limit.named(name)),
            None => limit,
        };
        Some(Self { at: node.at, limit, name })
    }
}

fn short(node: &Node, text: &str, diagnostics: &Diagnostics) -> Option<Limit> {
    match text.parse() {
        Ok(limit) => Some(limit),
        Err(error) => {
            diagnostics.report(
                node.at,
                format!("invalid limit {}", quote(text)),
                LimitError::to_string(&error),
            );
            None
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Log,
    Counter,
    Fixed,
    Gcra,
}

impl Read for Algorithm {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let words =
            [("log", Self::Log), ("counter", Self::Counter), ("fixed", Self::Fixed), ("gcra", Self::Gcra)];
        word(node, &words, diagnostics)
    }
}

impl Read for Resolution {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        match &node.kind {
            Kind::Scalar { text, .. } if text == "auto" => Some(Self::Auto),
            _ => DurationMs::read(node, diagnostics).map(|duration| Self::Ms(duration.0)),
        }
    }
}

/// Long form of a limit: either `in_flight` and `hold`, or a rate.
struct Long<'n> {
    fields: Fields<'n>,
    diagnostics: &'n Diagnostics,
}

impl Long<'_> {
    fn is_in_flight(&self) -> bool {
        let has = |name| self.fields.find(name).is_some();
        has("in_flight") || has("hold") && !has("quota") && !has("window")
    }

    fn in_flight(&self) -> Option<Limit> {
        let most = self.fields.required::<u64>("in_flight", "in_flight: 20");
        let hold = self.fields.required::<DurationMs>("hold", "hold: 30s");
        for name in ["quota", "window", "algorithm", "burst", "resolution"] {
            self.unused(name, "`in_flight`", "remove it: `in_flight` is used with `hold` and `name` only");
        }
        let limit = Limit::in_flight(most.value?, Duration::from_millis(hold.value?.0));
        self.checked(limit)
    }

    fn rate(&self) -> Option<Limit> {
        let quota = self.fields.required::<u64>("quota", "quota: 600");
        let window = self.fields.required::<DurationMs>("window", "window: 1min");
        let algorithm = match self.fields.get::<Spanned<Algorithm>>("algorithm") {
            Some(algorithm) => algorithm.value,
            None => Some(Algorithm::Log),
        };
        let burst = self.burst(algorithm);
        let resolution = match algorithm {
            Some(Algorithm::Log) | None => self.fields.get::<Resolution>("resolution"),
            Some(_) => {
                self.unused("resolution", "algorithms other than `log`", "remove it, or use `log`");
                None
            }
        };
        self.unused("hold", "`quota`", "remove it, or replace `quota` and `window` by `in_flight`");
        let limit = Limit::new(quota.value?, Duration::from_millis(window.value?.0)).and_then(|limit| {
            Ok(match algorithm {
                None => None,
                Some(Algorithm::Log) => Some(limit.resolution(resolution.unwrap_or(Resolution::Auto))?),
                Some(Algorithm::Counter) => Some(limit.counter()?),
                Some(Algorithm::Fixed) => Some(limit.fixed()?),
                Some(Algorithm::Gcra) => burst.map(|burst| limit.gcra(burst)).transpose()?,
            })
        });
        self.checked(limit)?
    }

    fn burst(&self, algorithm: Option<Algorithm>) -> Option<u64> {
        match algorithm {
            Some(Algorithm::Gcra) => self.fields.required("burst", "burst: 10").value,
            Some(_) => {
                self.unused("burst", "algorithms other than `gcra`", "remove it, or use `gcra`");
                None
            }
            None => self.fields.get("burst"),
        }
    }

    /// Reports a field that cannot be combined with another.
    fn unused(&self, name: &'static str, other: &str, help: &str) {
        if let Some(entry) = self.fields.find(name) {
            self.diagnostics.report(entry.key_at, format!("`{name}` cannot be used with {other}"), help);
        }
    }

    /// Reports why a limit is invalid, at the field that causes it.
    fn checked<T>(&self, limit: Result<T, LimitError>) -> Option<T> {
        use LimitError as E;
        let error = match limit {
            Ok(limit) => return Some(limit),
            Err(error) => error,
        };
        let causes: &[&'static str] = match error {
            E::ZeroQuota | E::QuotaTooLarge { .. } => &["quota", "in_flight"],
            E::ZeroWindow | E::WindowTooLong | E::CounterNeedsSeconds { .. } => &["window", "hold"],
            E::ZeroResolution | E::ResolutionAboveWindow { .. } => &["resolution"],
            E::TooManyEntries { .. } => &["resolution", "in_flight", "quota"],
            E::ZeroBurst | E::BurstTooLarge { .. } => &["burst"],
            _ => &[],
        };
        let entry = causes.iter().find_map(|name| self.fields.find(name));
        let (at, what) = match entry {
            Some(entry) => (entry.value.at, format!("invalid `{}`: {}", entry.key, entry.value.describe())),
            None => (self.fields.head(), "invalid limit".to_owned()),
        };
        let help = match error {
            E::TooManyEntries { .. } if self.is_in_flight() => {
                format!("the maximum is {MAX_ENTRIES}")
            }
            _ => error.to_string(),
        };
        self.diagnostics.report(at, what, help);
        None
    }
}
