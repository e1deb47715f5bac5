//! Which keys are meant.

use serde_json::{Map, Value, json};

use super::Of;
use crate::check::Attribute;

// A comment for the documentation here would become that of the command.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// What the key is made of: name=value, as many as you like.
    #[arg(value_name = "ATTRIBUTE=VALUE")]
    attributes: Vec<Attribute>,
    /// The rule whose key it is. Left out: all rules whose key the attributes fill.
    #[arg(long)]
    rule: Option<String>,
    #[command(flatten)]
    pub(super) of: Of,
}

impl Args {
    pub(super) fn body(&self) -> Value {
        let attributes = self.attributes.iter().map(|one| (one.name.clone(), json!(one.value)));
        let mut body = json!({ "attributes": attributes.collect::<Map<_, _>>() });
        if let Some(rule) = &self.rule {
            body["rule"] = json!(rule);
        }
        body
    }
}
