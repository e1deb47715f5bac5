//! Limit in a file: `5/min`, or the long form.

use std::time::Duration;

use serde_json::{Value, json};
use slidegate_core::{Limit, LimitError, MAX_ENTRIES, MAX_QUOTA, Resolution};

use super::{Span, Spanned};
use crate::diagnostics::{Diagnostics, quote};
use crate::format::schema::{COUNT, Properties, whole};
use crate::format::{Fields, Format, Schemas, expected, window_pattern};
use crate::yaml::{Kind, Node};

/// Limit: `5/min`, or the long form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitEntry {
    /// Position.
    pub at: Span,
    /// The limit, with its name if it has one. `None`: it is invalid, and that was reported.
    pub limit: Option<Limit>,
    /// Name in the file.
    pub name: Option<String>,
}

impl Format for LimitEntry {
    type Value = Self;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let (limit, name) = match &node.kind {
            Kind::Scalar { text, .. } if !node.is_null() => (short(node, text, diagnostics), None),
            Kind::Mapping(_) => {
                let fields = Fields::of(node, "a limit", diagnostics)?;
                let long = LongForm { fields };
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

    fn schema(schemas: &mut Schemas) -> Value {
        schemas.refer("Limit", |schemas| {
            let (rate, in_flight) = (rate_schema(schemas), in_flight_schema(schemas));
            json!({
                "description": "Limit: `quota/window` with the algorithm `log`, or one of the long forms.",
                "anyOf": [
                    { "type": "string", "pattern": format!("^ *{COUNT} */ *{} *$", window_pattern()) },
                    rate,
                    in_flight,
                ],
                "examples": ["5/min", "100/30s", { "quota": 600, "window": "1min", "algorithm": "counter" }],
            })
        })
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

crate::keywords! {
    /// Algorithm of a limit.
    enum LimitAlgorithm {
        Log = "log": "Sliding window log: never more than the quota in any window.",
        Counter = "counter": "Sliding window counter: constant memory, up to twice the quota in the worst case.",
        Fixed = "fixed": "Fixed window: up to twice the quota around its edge.",
        Gcra = "gcra": "Generic cell rate algorithm: a steady rate with a burst.",
    }
}

impl Format for Resolution {
    type Value = Self;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        match &node.kind {
            Kind::Scalar { text, .. } if text == "auto" => Some(Self::Auto),
            _ => Duration::read(node, diagnostics).map(|duration| Self::Ms(duration.as_millis() as u64)),
        }
    }

    fn schema(schemas: &mut Schemas) -> Value {
        json!({ "anyOf": [{ "const": "auto" }, Duration::schema(schemas)] })
    }
}

/// Long form of a limit: either `in_flight` and `hold`, or a rate.
struct LongForm<'n> {
    fields: Fields<'n>,
}

impl LongForm<'_> {
    fn is_in_flight(&self) -> bool {
        let has = |name| self.fields.find(name).is_some();
        has("in_flight") || has("hold") && !has("quota") && !has("window")
    }

    fn in_flight(&self) -> Option<Limit> {
        let most = self.fields.required::<u64>("in_flight", "in_flight: 20");
        let hold = self.fields.required::<Duration>("hold", "hold: 30s");
        for name in ["quota", "window", "algorithm", "burst", "resolution"] {
            self.unused(name, "`in_flight`", "remove it: `in_flight` is used with `hold` and `name` only");
        }
        let limit = Limit::in_flight(most?, hold?);
        self.checked(limit)
    }

    fn rate(&self) -> Option<Limit> {
        let quota = self.fields.required::<u64>("quota", "quota: 600");
        let window = self.fields.required::<Duration>("window", "window: 1min");
        let algorithm = match self.fields.get::<Spanned<LimitAlgorithm>>("algorithm") {
            Some(algorithm) => algorithm.value,
            None => Some(LimitAlgorithm::Log),
        };
        let burst = self.burst(algorithm);
        let resolution = match algorithm {
            Some(LimitAlgorithm::Log) | None => self.fields.get::<Resolution>("resolution"),
            Some(_) => {
                self.unused("resolution", "algorithms other than `log`", "remove it, or use `log`");
                None
            }
        };
        self.unused("hold", "`quota`", "remove it, or replace `quota` and `window` by `in_flight`");
        let limit = Limit::new(quota?, window?).and_then(|limit| {
            Ok(match algorithm {
                None => None,
                Some(LimitAlgorithm::Log) => Some(limit.resolution(resolution.unwrap_or(Resolution::Auto))?),
                Some(LimitAlgorithm::Counter) => Some(limit.counter()?),
                Some(LimitAlgorithm::Fixed) => Some(limit.fixed()?),
                Some(LimitAlgorithm::Gcra) => burst.map(|burst| limit.gcra(burst)).transpose()?,
            })
        });
        self.checked(limit)?
    }

    fn burst(&self, algorithm: Option<LimitAlgorithm>) -> Option<u64> {
        match algorithm {
            Some(LimitAlgorithm::Gcra) => self.fields.required::<u64>("burst", "burst: 10"),
            Some(_) => {
                self.unused("burst", "algorithms other than `gcra`", "remove it, or use `gcra`");
                None
            }
            None => self.fields.get::<u64>("burst"),
        }
    }

    /// Reports a field that cannot be combined with another.
    fn unused(&self, name: &'static str, other: &str, help: &str) {
        if let Some(entry) = self.fields.find(name) {
            self.fields.report(entry.key_at, format!("`{name}` cannot be used with {other}"), help);
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
        self.fields.report(at, what, help);
        None
    }
}

/// Adds the name of a limit.
fn add_name(properties: &mut Properties, schemas: &mut Schemas) {
    let text = "Name in responses and headers. A limit with a name has its own state.";
    properties.add("name", String::schema(schemas), &[text], json!({ "pattern": r"^[!#-\[\]-~]{1,64}$" }));
}

fn rate_schema(schemas: &mut Schemas) -> Value {
    schemas.refer("Rate", |schemas| {
        let mut rate = Properties::default();
        let units = whole(1, MAX_QUOTA);
        rate.add("quota", units.clone(), &["Number of units allowed in a window."], json!({}));
        rate.require("quota");
        rate.add("window", Duration::schema(schemas), &["Length of the window, up to 1,000 days."], json!({}));
        rate.require("window");
        rate.add("algorithm", LimitAlgorithm::schema(schemas), &["Algorithm."], json!({ "default": "log" }));
        let text = "Number of units that may come at once. Only for `gcra`, and required there.";
        rate.add("burst", units, &[text], json!({}));
        let text = "Time resolution. Only for `log`. `auto` is 1ms for quotas up to 128, and 1/128 of the window above.";
        rate.add("resolution", Resolution::schema(schemas), &[text], json!({ "default": "auto" }));
        add_name(&mut rate, schemas);
        let example = json!({ "quota": 600, "window": "1min", "algorithm": "gcra", "burst": 20, "name": "steady" });
        let mut schema = rate.into_schema(json!({ "examples": [example] }), &["Rate: a quota per window."]);
        // Only `gcra` has a `burst`, and only `log` has a `resolution`.
        let is = |name: &str| json!({ "properties": { "algorithm": { "const": name } } });
        let mut gcra = is("gcra");
        gcra["required"] = json!(["algorithm"]);
        schema["allOf"] = json!([
            { "if": gcra, "then": { "required": ["burst"] }, "else": { "properties": { "burst": false } } },
            { "if": is("log"), "else": { "properties": { "resolution": false } } },
        ]);
        schema
    })
}

fn in_flight_schema(schemas: &mut Schemas) -> Value {
    schemas.refer("InFlight", |schemas| {
        let mut in_flight = Properties::default();
        let text = "Maximum number of requests in flight. A request counts as one, regardless of its cost.";
        in_flight.add("in_flight", whole(1, MAX_ENTRIES), &[text], json!({}));
        in_flight.require("in_flight");
        let text = "Time after which a permit that was not released expires.";
        in_flight.add("hold", Duration::schema(schemas), &[text], json!({}));
        in_flight.require("hold");
        add_name(&mut in_flight, schemas);
        let text = "Concurrency limit: a number of requests in flight, regardless of the rate. A response contains a \
            permit, which is released when the work is done.";
        in_flight.into_schema(json!({ "examples": [{ "in_flight": 20, "hold": "30s" }] }), &[text])
    })
}
