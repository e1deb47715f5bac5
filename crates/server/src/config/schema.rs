//! Schema of the policy file: JSON Schema for editors, and the reference page.

mod flow_style;
mod markdown;

use serde_json::{Value, json};
use slidegate::policy::file;
use slidegate::policy::format::Format;

use super::{ObserveSettings, ServerSettings, StoreSettings};

pub use markdown::markdown;

/// JSON Schema of the policy file. Editors use it to complete fields, explain them and mark errors.
///
/// It is of draft 7, which all editors support. Checks across fields are left to
/// [`Config::parse`](super::Config::parse).
pub fn json() -> Value {
    file::schema(|file, schemas| {
        let server = ServerSettings::schema(schemas);
        file.add("server", server, &["Settings of the server."], json!({}));
        let store = StoreSettings::schema(schemas);
        file.add("store", store, &["Storage of the state."], json!({}));
        let observe = ObserveSettings::schema(schemas);
        file.add("observe", observe, &["Telemetry: metrics, top lists, the denial log."], json!({}));
    })
}
