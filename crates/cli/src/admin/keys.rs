//! Arguments that select keys.

use serde_json::{Map, Value, json};

use super::AdminServer;
use crate::check::Attribute;

// A doc comment here would become the help text of the command.
#[derive(clap::Args, Debug)]
pub(super) struct KeyArgs {
    /// Attributes that make up the key.
    #[arg(value_name = "NAME=VALUE")]
    attributes: Vec<Attribute>,
    /// Name of the rule [default: all rules whose key the attributes fill].
    #[arg(long)]
    rule: Option<String>,
    #[command(flatten)]
    pub(super) server: AdminServer,
}

impl KeyArgs {
    pub(super) fn body(&self) -> Value {
        let attributes = self.attributes.iter().map(|one| (one.name.clone(), json!(one.value)));
        let mut body = json!({ "attributes": attributes.collect::<Map<_, _>>() });
        if let Some(rule) = &self.rule {
            body["rule"] = json!(rule);
        }
        body
    }
}
