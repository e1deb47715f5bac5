//! The schema of the policy file: true to what is read, and the page that is made from it.

use jsonschema::Validator;
use serde_json::{Value, json};
use slidegate::policy::file::File;
use slidegate_server::Config;
use slidegate_server::config::schema;

use super::diagnostics::value_mutations::{changed, everything};

fn validator() -> Validator {
    jsonschema::draft7::new(&schema::json()).expect("the schema is one")
}

/// JSON is YAML.
fn is_read(value: &Value) -> bool {
    Config::parse("policy.yaml", &value.to_string()).is_ok()
}

#[test]
fn it_is_a_schema() {
    let schema = schema::json();
    assert!(jsonschema::draft7::meta::is_valid(&schema));
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
}

#[test]
fn good_files_pass() {
    let example = json!({
        "version": 1,
        "server": { "http": "127.0.0.1:8080", "trusted_proxies": ["127.0.0.0/8"] },
        "store": { "kind": "memory", "max_memory": "256MiB" },
        "rules": [
            {
                "name": "login",
                "match": { "method": "POST", "path": "/login" },
                "key": ["ip"],
                "limits": ["5/min"],
                "on_store_error": "deny"
            },
            {
                "name": "search",
                "match": { "path": "/v1/search/{*rest}" },
                "key": ["org", "api_key|ip"],
                "limits": ["10/s", { "quota": 600, "window": "1m", "algorithm": "counter" }],
                "overrides": [{ "when": { "org": "acme" }, "limits": ["50/s"] }],
                "tiers": { "enterprise": ["200/s"] },
                "allow": [{ "ip": "10.0.0.0/8" }],
                "deny": [{ "user": "mallory" }],
                "mode": "observe"
            }
        ]
    });
    for file in [example, everything(), json!({ "version": 1 }), json!({ "version": 1, "rules": [] })] {
        let errors: Vec<String> = validator().iter_errors(&file).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert!(is_read(&file), "{file}");
    }
}

/// What is wrong with files that have the right form: their meaning, which no schema knows.
const MEANINGS: [&str; 17] = [
    "invalid header name",
    "requires `kind: redis`",
    "missing address of Redis",
    "empty list of sentinels",
    "empty string",
    "invalid size",
    "the timeout must not be 0",
    "invalid request size",
    "is reachable from other machines",
    "invalid collector URL",
    "metrics interval of",
    "invalid path",
    "invalid address or network",
    "invalid `",
    "override without conditions",
    "empty list of limits",
    "a `gcra` limit cannot be refunded",
];

#[test]
fn it_refuses_what_is_refused_and_nothing_else() {
    let validator = validator();
    let (mut both, mut neither, mut unknown) = (0, 0, Vec::new());
    for (name, value) in changed() {
        let passes = validator.is_valid(&value);
        match Config::parse("policy.yaml", &value.to_string()) {
            Ok(_) if passes => neither += 1,
            Ok(_) => unknown.push(format!("{name}: only the schema refuses it")),
            Err(errors) if passes => {
                let is_form = |what: &&String| !MEANINGS.iter().any(|meaning| what.contains(meaning));
                let forms: Vec<&String> = errors.iter().map(|error| &error.message).filter(is_form).collect();
                if !forms.is_empty() {
                    unknown.push(format!("{name}: only the reader refuses it: {forms:?}"));
                }
            }
            Err(_) => both += 1,
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    assert!(both > 900 && neither > 100, "{both} {neither}");
}

#[test]
fn defaults_are_those_of_the_types() {
    let schema = schema::json();
    let defaults = |definition: &Value| {
        let fields = definition["properties"].as_object().expect("it has fields");
        let entries =
            fields.iter().filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
        Value::Object(entries.collect())
    };
    let mut file = defaults(&schema);
    file["version"] = json!(1);
    file["server"] = defaults(&schema["definitions"]["Server"]);
    file["server"]["connections"] = defaults(&schema["definitions"]["Connections"]);
    file["store"] = defaults(&schema["definitions"]["Store"]);
    file["observe"] = defaults(&schema["definitions"]["Observe"]);
    file["rules"] = json!([{ "name": "a", "limits": ["5/min"] }]);
    let bare = json!({ "version": 1, "rules": file["rules"] });
    for (name, default) in defaults(&schema["definitions"]["Rule"]).as_object().expect("they are fields") {
        file["rules"][0][name] = default.clone();
    }
    let rules = |file: &Value| {
        let file = File::parse("policy.yaml", &file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        without_places(&file)
    };
    assert_eq!(rules(&file), rules(&bare));
    let settings = |file: &Value| {
        let config = Config::parse("policy.yaml", &file.to_string());
        config.unwrap_or_else(|errors| panic!("{errors}")).settings
    };
    let (mut complete, left_out) = (settings(&file), settings(&bare));
    // A prefix is not filled in by the reader but by the store.
    assert_eq!(complete.store.prefix.take().as_deref(), Some("sg:"));
    assert!(std::mem::take(&mut complete.server.connections.has_max));
    assert_eq!(complete, left_out);
}

/// All that a file says, wherever it says it.
fn without_places(file: &File) -> String {
    let printed = format!("{file:?}");
    let mut rest = printed.as_str();
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("Span {") {
        text.push_str(before);
        rest = after.split_once('}').expect("a span ends").1;
    }
    text.push_str(rest);
    text
}

#[test]
fn it_knows_the_fields_that_are_read() {
    let schema = schema::json();
    let read = |text: &str| {
        let errors = Config::parse("policy.yaml", text).expect_err("a zebra is no field");
        let remedy = &errors.iter().find(|error| error.message.contains("zebra")).expect("it was seen").help;
        let (_, names) = remedy.split_once(" has the fields ").expect("all fields are named");
        let mut names: Vec<String> = names.split(", ").map(str::to_owned).collect();
        names.sort();
        names
    };
    let fields_of = |definition: &Value| {
        let mut names: Vec<String> =
            definition["properties"].as_object().expect("fields").keys().cloned().collect();
        names.sort();
        names
    };
    let definitions = &schema["definitions"];
    let rule = |inside: &str| format!("version: 1\nrules: [{{ name: a, limits: [5/s], {inside} }}]");
    assert_eq!(read("{ version: 1, zebra: 1 }"), fields_of(&schema));
    assert_eq!(read("{ version: 1, server: { zebra: 1 } }"), fields_of(&definitions["Server"]));
    assert_eq!(read("{ version: 1, store: { zebra: 1 } }"), fields_of(&definitions["Store"]));
    assert_eq!(read("{ version: 1, observe: { zebra: 1 } }"), fields_of(&definitions["Observe"]));
    assert_eq!(read("{ version: 1, observe: { otlp: { zebra: 1 } } }"), fields_of(&definitions["Otlp"]));
    assert_eq!(
        read("{ version: 1, store: { sentinel: { zebra: 1 } } }"),
        fields_of(&definitions["Sentinel"])
    );
    assert_eq!(read(&rule("zebra: 1")), fields_of(&definitions["Rule"]));
    assert_eq!(read(&rule("overrides: [{ zebra: 1 }]")), fields_of(&definitions["Override"]));
    let mut limit = [fields_of(&definitions["Rate"]), fields_of(&definitions["InFlight"])].concat();
    limit.sort();
    limit.dedup();
    assert_eq!(read(&rule("tiers: { gold: [{ zebra: 1 }] }")), limit);
}

#[test]
fn the_page_is_that_of_the_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
    let page = schema::markdown();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page,
        "docs/policy.md is old: UPDATE=1 cargo test -p slidegate-server --test it config::schema"
    );
    let example =
        page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    Config::parse("docs/policy.md", example).unwrap_or_else(|errors| panic!("{errors}"));
}
