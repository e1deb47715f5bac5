//! Schemas of types with several forms.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use slidegate_core::{MAX_ENTRIES, MAX_QUOTA, window_units};

use super::super::file::{
    Admin, Bytes, Conditions, DurationMs, LimitEntry, ListenerSettings, Mode, Percent, Spanned, Tls,
};
use super::{COUNT, Only, socket, whole};

/// The position is not part of the file.
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

/// Implements the schema of a type with an expression.
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

/// Pattern of a window: a unit, optionally with a count.
fn window() -> String {
    format!("([0-9]+ *)?({})", window_units().collect::<Vec<_>>().join("|"))
}

shape!(Percent, "Percent", |_generator| json_schema!({
    "description": "Percentage: 0% to 100% with up to two decimals.",
    "type": "string",
    "pattern": r"^([0-9]{1,2}(\.[0-9]{1,2})?|100(\.0{1,2})?)%$",
    "examples": ["25%", "0.5%"],
}));

shape!(DurationMs, "Duration", |_generator| json_schema!({
    "description": "Duration: a whole number and `ms`, `s`, `min`, `h`, `day` or `week`. Only 0 needs no unit.",
    "anyOf": [{ "type": "string", "pattern": format!("^({}|0)$", window()) }, { "const": 0 }],
    "examples": ["50ms", "30s", "1min", "2h", "1day"],
}));

shape!(Bytes, "Size", |_generator| json_schema!({
    "description": "Size: a whole number and `KiB`, `MiB`, `GiB` or `TiB`; in bytes without a unit.",
    "type": ["string", "integer"],
    "minimum": 1,
    "pattern": format!("^{COUNT} *(KiB|MiB|GiB|TiB)?$"),
    "examples": ["256MiB", "1GiB", 65536],
}));

shape!(Admin, "Admin", |generator| {
    let (address, long) = (socket(generator), generator.subschema_for::<AdminFields>());
    json_schema!({
        "description": "Listener for operators: a loopback address, or the long form.",
        "anyOf": [address, long],
        "examples": ["127.0.0.1:8090", { "listen": "0.0.0.0:8090", "token": "…" }],
    })
});

shape!(ListenerSettings, "Listener", |generator| {
    let (address, long) = (socket(generator), generator.subschema_for::<ListenerFields>());
    json_schema!({
        "description": "Listener of a further protocol: an address, or the long form.",
        "anyOf": [address, long],
        "examples": ["127.0.0.1:8081", { "listen": "0.0.0.0:8081", "tls": { "certificate": "server.pem", "key": "server.key" } }],
    })
});

/// Long form of a listener.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("listen"))]
#[allow(dead_code, reason = "it exists for its schema")]
struct ListenerFields {
    /// Address.
    #[schemars(schema_with = "socket")]
    listen: (),
    /// TLS.
    tls: Tls,
}

/// Listener for operators. On an address other than loopback it requires a token or a `client_ca`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("listen"))]
#[allow(dead_code, reason = "it exists for its schema")]
struct AdminFields {
    /// Address.
    #[schemars(schema_with = "socket")]
    listen: (),
    /// Token that requests must have in `Authorization: Bearer …`. At least 16 characters.
    #[schemars(length(min = 16))]
    token: String,
    /// TLS.
    tls: Tls,
}

shape!(Conditions, "Conditions", |generator| {
    let test = generator.subschema_for::<TestForm>();
    json_schema!({
        "description": "Conditions on attributes. All of them must match. An empty mapping matches every request.",
        "type": "object",
        "additionalProperties": test,
        "examples": [{ "method": "POST", "path": "/login" }, { "ip": ["10.0.0.0/8", "192.0.2.7"] }],
    })
});

/// Test of an attribute.
struct TestForm;

shape!(TestForm, "Test", |_generator| {
    let value = json_schema!({ "type": ["string", "number", "boolean"] });
    let list = json_schema!({ "type": "array", "items": value, "minItems": 1 });
    json_schema!({
        "description": "Test of an attribute: a value, a list of alternatives, or a prefix. `path` takes templates \
            (`/users/{id}`, `/files/{*rest}`), `ip` takes addresses and CIDR blocks, and `method` ignores case.",
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
        "description": "Limit: `quota/window` with the algorithm `log`, or one of the long forms.",
        "anyOf": [
            { "type": "string", "pattern": format!("^ *{COUNT} */ *{} *$", window()) },
            rate,
            in_flight,
        ],
        "examples": ["5/min", "100/30s", { "quota": 600, "window": "1min", "algorithm": "counter" }],
    })
});

/// Rate: a quota per window.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("quota window"), transform = by_algorithm)]
#[schemars(extend("examples" = [{ "quota": 600, "window": "1min", "algorithm": "gcra", "burst": 20, "name": "steady" }]))]
#[allow(dead_code, reason = "it exists for its schema")]
struct Rate {
    /// Number of units allowed in a window.
    #[schemars(schema_with = "whole::<1, MAX_QUOTA>")]
    quota: u64,
    /// Length of the window, up to 1,000 days.
    window: DurationMs,
    /// Algorithm.
    #[schemars(extend("default" = "log"))]
    algorithm: Algorithm,
    /// Number of units that may come at once. Only for `gcra`, and required there.
    #[schemars(schema_with = "whole::<1, MAX_QUOTA>")]
    burst: u64,
    /// Time resolution. Only for `log`. `auto` is 1ms for quotas up to 128, and 1/128 of the window above.
    #[schemars(schema_with = "resolution", extend("default" = "auto"))]
    resolution: (),
    /// Name in responses and headers. A limit with a name has its own state.
    #[schemars(regex(pattern = r"^[!#-\[\]-~]{1,64}$"))]
    name: String,
}

/// Concurrency limit: a number of requests in flight, regardless of the rate. A response contains a permit, which is
/// released when the work is done.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("in_flight hold"))]
#[schemars(extend("examples" = [{ "in_flight": 20, "hold": "30s" }]))]
#[allow(dead_code, reason = "it exists for its schema")]
struct InFlight {
    /// Maximum number of requests in flight. A request counts as one, regardless of its cost.
    #[schemars(schema_with = "whole::<1, MAX_ENTRIES>")]
    in_flight: u64,
    /// Time after which a permit that was not released expires.
    hold: DurationMs,
    /// Name in responses and headers. A limit with a name has its own state.
    #[schemars(regex(pattern = r"^[!#-\[\]-~]{1,64}$"))]
    name: String,
}

/// Algorithm of a limit.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[allow(dead_code, reason = "it exists for its schema")]
enum Algorithm {
    /// Sliding window log: never more than the quota in any window.
    Log,
    /// Sliding window counter: constant memory, up to twice the quota in the worst case.
    Counter,
    /// Fixed window: up to twice the quota around its edge.
    Fixed,
    /// Generic cell rate algorithm: a steady rate with a burst.
    Gcra,
}

fn resolution(generator: &mut SchemaGenerator) -> Schema {
    let duration = generator.subschema_for::<DurationMs>();
    json_schema!({ "anyOf": [{ "const": "auto" }, duration] })
}

/// Restricts `burst` to `gcra` and `resolution` to `log`.
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
        "description": "Mode of a rule. Where it does not enforce, it observes: it counts, and reports what it would \
            deny.",
        "anyOf": [
            { "const": "enforce", "description": "Deny requests that exceed the limits." },
            { "const": "observe", "description": "Never deny." },
            {
                "description": "Enforce for this share of the subjects, always the same ones.",
                "type": "object",
                "properties": { "enforce": share },
                "required": ["enforce"],
                "additionalProperties": false,
            },
            {
                "description": "Enforce for requests that match one of these.",
                "type": "object",
                "properties": { "enforce_for": { "type": "array", "items": conditions, "minItems": 1 } },
                "required": ["enforce_for"],
                "additionalProperties": false,
            },
        ],
        "examples": ["observe", { "enforce": "25%" }, { "enforce_for": [{ "org": "acme" }] }],
    })
});
