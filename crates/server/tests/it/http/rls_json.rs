//! `POST /json`: Envoy's calls and answers in JSON, and with them what they mean.

mod answers;
mod keys;
mod meaning;
mod outage;
mod wrong;

use serde_json::{Value, json};

use crate::http::client::{Client, Response};

/// What came of descriptors that are written so: `"user=alice path=/a"`.
async fn ask(client: &mut Client, descriptors: &[&str]) -> Response {
    let descriptors: Vec<Value> = descriptors.iter().map(|text| descriptor(text)).collect();
    client.post("/json", &json!({ "domain": "shop", "descriptors": descriptors })).await
}

fn descriptor(text: &str) -> Value {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').expect("key=value"));
    let entries: Vec<Value> = pairs.map(|(key, value)| json!({ "key": key, "value": value })).collect();
    json!({ "entries": entries })
}

/// A descriptor with more members.
fn with(text: &str, members: Value) -> Value {
    let mut descriptor = descriptor(text);
    let Value::Object(members) = members else { panic!("members of an object") };
    for (name, value) in members {
        descriptor[name.as_str()] = value;
    }
    descriptor
}

/// The code, and what is left, of every descriptor: `OK 4, OVER_LIMIT 0`.
fn statuses(response: &Response) -> String {
    let statuses = response.at("/statuses");
    let texts = statuses.as_array().expect("a list").iter().map(|status| {
        let code = status["code"].as_str().expect("a code").to_owned();
        match &status["limitRemaining"] {
            Value::Null => code,
            left => format!("{code} {left}"),
        }
    });
    texts.collect::<Vec<_>>().join(", ")
}

const RULES: &str = "
rules:
  - { name: user, match: { descriptor: user }, key: [user], limits: [2/min, 50/h] }
  - { name: org, match: { domain: shop, descriptor: 'org,path' }, key: [org], limits: [{ quota: 5, window: 90s }] }
";
