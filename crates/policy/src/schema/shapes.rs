//! The schemas of what can be written in several ways.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use slidegate_core::{MAX_ENTRIES, MAX_QUOTA, window_units};

use super::super::file::{
    Admin, Bytes, Conditions, DurationMs, LimitEntry, ListenerSettings, Mode, Percent, Spanned, Tls,
};
use super::{COUNT, Only, socket, whole};

/// Where something stands is no part of the file.
impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Implements the schema of a type by an expression.
macro_rules! shape {
    ($type:ty, $name:literal, |$generator:ident| $schema:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

/// A window: a unit, with a count of 1 where none is given.
fn window() -> String {
    format!("([0-9]+ *)?({})", window_units().collect::<Vec<_>>().join("|"))
}

shape!(Percent, "Percent", |_generator| json_schema!({
    "description": "A share: 0% to 100%, with up to two decimals.",
    "type": "string",
    "pattern": r"^([0-9]{1,2}(\.[0-9]{1,2})?|100(\.0{1,2})?)%$",
    "examples": ["25%", "0.5%"],
}));

shape!(DurationMs, "Duration", |_generator| json_schema!({
    "description": "A time: a whole number and `ms`, `s`, `min`, `h`, `day` or `week`. Only 0 needs no unit.",
    "anyOf": [{ "type": "string", "pattern": format!("^({}|0)$", window()) }, { "const": 0 }],
    "examples": ["50ms", "30s", "1min", "2h", "1day"],
}));

shape!(Bytes, "Size", |_generator| json_schema!({
    "description": "A size: a whole number and `KiB`, `MiB`, `GiB` or `TiB`; bytes without a unit.",
    "type": ["string", "integer"],
    "minimum": 1,
    "pattern": format!("^{COUNT} *(KiB|MiB|GiB|TiB)?$"),
    "examples": ["256MiB", "1GiB", 65536],
}));

shape!(Admin, "Admin", |generator| {
    let (address, long) = (socket(generator), generator.subschema_for::<AdminListener>());
    json_schema!({
        "description": "Where operators reach the service: an address of this machine alone, or the long form.",
        "anyOf": [address, long],
        "examples": ["127.0.0.1:8090", { "listen": "0.0.0.0:8090", "token": "…" }],
    })
});

shape!(ListenerSettings, "ListenerSettings", |generator| {
    let (address, long) = (socket(generator), generator.subschema_for::<Listener>());
    json_schema!({
        "description": "Where one more protocol is spoken: an address, or the long form.",
        "anyOf": [address, long],
        "examples": ["127.0.0.1:8081", { "listen": "0.0.0.0:8081", "tls": { "certificate": "server.pem", "key": "server.key" } }],
    })
});

/// A listener of its own.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("listen"))]
#[allow(dead_code, reason = "it is only described")]
struct Listener {
    /// Where to listen.
    #[schemars(schema_with = "socket")]
    listen: (),
    /// If set, it is reached by TLS alone.
    tls: Tls,
}

/// A listener for operators. Beyond this machine it needs a token or a `client_ca`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("listen"))]
#[allow(dead_code, reason = "it is only described")]
struct AdminListener {
    /// Where to listen.
    #[schemars(schema_with = "socket")]
    listen: (),
    /// If set, requests need `Authorization: Bearer …` with it. At least 16 characters.
    #[schemars(length(min = 16))]
    token: String,
    /// If set, it is reached by TLS alone.
    tls: Tls,
}

shape!(Conditions, "Conditions", |generator| {
    let test = generator.subschema_for::<TestForm>();
    json_schema!({
        "description": "Attributes and what they have to be. All have to hold; none at all hold for every request.",
        "type": "object",
        "additionalProperties": test,
        "examples": [{ "method": "POST", "path": "/login" }, { "ip": ["10.0.0.0/8", "192.0.2.7"] }],
    })
});

/// What an attribute has to be.
struct TestForm;

shape!(TestForm, "Test", |_generator| {
    let value = json_schema!({ "type": ["string", "number", "boolean"] });
    let list = json_schema!({ "type": "array", "items": value, "minItems": 1 });
    json_schema!({
        "description": "A value, a list of which one has to be it, or how it has to start. `path` takes templates \
            (`/users/{id}`, `/files/{*rest}`), `ip` addresses and CIDRs; for `method` case does not matter.",
        "anyOf": [
            value,
            list,
            {
                "type": "object",
                "properties": { "prefix": { "anyOf": [value, list] } },
                "required": ["prefix"],
                "additionalProperties": false,
            },
        ],
        "examples": ["/users/{id}", ["GET", "HEAD"], { "prefix": "/api" }],
    })
});

shape!(LimitEntry, "Limit", |generator| {
    let (rate, in_flight) = (generator.subschema_for::<Rate>(), generator.subschema_for::<InFlight>());
    json_schema!({
        "description": "What is allowed: `quota/window` counted by a log, or one of the long forms.",
        "anyOf": [
            { "type": "string", "pattern": format!("^ *{COUNT} */ *{} *$", window()) },
            rate,
            in_flight,
        ],
        "examples": ["5/min", "100/30s", { "quota": 600, "window": "1min", "algorithm": "counter" }],
    })
});

/// A quota per window.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("quota window"), transform = by_algorithm)]
#[schemars(extend("examples" = [{ "quota": 600, "window": "1min", "algorithm": "gcra", "burst": 20, "name": "steady" }]))]
#[allow(dead_code, reason = "it is only described")]
struct Rate {
    /// How many units are allowed in a window.
    #[schemars(schema_with = "whole::<1, MAX_QUOTA>")]
    quota: u64,
    /// How long the window is, up to 1,000 days.
    window: DurationMs,
    /// How it is counted.
    #[schemars(extend("default" = "log"))]
    algorithm: Algorithm,
    /// Of `gcra` only, and needed there: how many units may come at once.
    #[schemars(schema_with = "whole::<1, MAX_QUOTA>")]
    burst: u64,
    /// Of `log` only: how finely time is kept. `auto` is 1ms for quotas up to 128 and a 128th of the window above.
    #[schemars(schema_with = "resolution", extend("default" = "auto"))]
    resolution: (),
    /// A name for answers and headers. A limit with a name has a history of its own.
    #[schemars(regex(pattern = r"^[!#-\[\]-~]{1,64}$"))]
    name: String,
}

/// So many at a time, whatever the rate. An answer brings a permit, which is given back when the work is done.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("in_flight hold"))]
#[schemars(extend("examples" = [{ "in_flight": 20, "hold": "30s" }]))]
#[allow(dead_code, reason = "it is only described")]
struct InFlight {
    /// How many may be in flight at a time. A request takes one place, whatever its cost.
    #[schemars(schema_with = "whole::<1, MAX_ENTRIES>")]
    in_flight: u64,
    /// After how long one that is not given back frees its place.
    hold: DurationMs,
    /// A name for answers and headers. A limit with a name has a history of its own.
    #[schemars(regex(pattern = r"^[!#-\[\]-~]{1,64}$"))]
    name: String,
}

/// How a limit counts.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[allow(dead_code, reason = "it is only described")]
enum Algorithm {
    /// A sliding window log: never more than the quota in any window.
    Log,
    /// Two windows, the previous one weighted: constant memory, up to twice the quota in the worst case.
    Counter,
    /// One aligned window: up to twice the quota around its edge.
    Fixed,
    /// A steady rate with a burst.
    Gcra,
}

fn resolution(generator: &mut SchemaGenerator) -> Schema {
    let duration = generator.subschema_for::<DurationMs>();
    json_schema!({ "anyOf": [{ "const": "auto" }, duration] })
}

/// `burst` belongs to `gcra`, `resolution` to `log`.
fn by_algorithm(schema: &mut Schema) {
    let is = |name: &str| serde_json::json!({ "properties": { "algorithm": { "const": name } } });
    let mut gcra = is("gcra");
    gcra["required"] = ["algorithm"].as_slice().into();
    let rules = serde_json::json!([
        { "if": gcra, "then": { "required": ["burst"] }, "else": { "properties": { "burst": false } } },
        { "if": is("log"), "else": { "properties": { "resolution": false } } },
    ]);
    schema.insert("allOf".to_owned(), rules);
}

shape!(Mode, "Mode", |generator| {
    let (share, conditions) = (generator.subschema_for::<Percent>(), generator.subschema_for::<Conditions>());
    json_schema!({
        "description": "Whether a rule refuses. What it does not refuse it observes: it counts, and reports what it \
            would refuse.",
        "anyOf": [
            { "const": "enforce", "description": "It refuses." },
            { "const": "observe", "description": "It never refuses." },
            {
                "description": "It refuses for this share of its subjects, always the same ones.",
                "type": "object",
                "properties": { "enforce": share },
                "required": ["enforce"],
                "additionalProperties": false,
            },
            {
                "description": "It refuses for requests that match one of these.",
                "type": "object",
                "properties": { "enforce_for": { "type": "array", "items": conditions, "minItems": 1 } },
                "required": ["enforce_for"],
                "additionalProperties": false,
            },
        ],
        "examples": ["observe", { "enforce": "25%" }, { "enforce_for": [{ "org": "acme" }] }],
    })
});
