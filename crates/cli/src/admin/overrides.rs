//! Arguments of `slidegate admin override`.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::AdminServer;
use crate::check::Attribute;

/// Manage temporary overrides.
///
/// A temporary override changes the limits of a rule for some requests until it expires. It applies
/// on all servers that share the store and survives restarts.
#[derive(Subcommand, Debug)]
#[command(arg_required_else_help = true)]
pub(super) enum OverrideCommand {
    /// Add a temporary override and print its id.
    #[command(after_help = "\
Example:
  slidegate admin override add --rule search --when api_key=k1 --limit 50/s --for 2h --reason 'import'
  slidegate admin override add --rule login --when ip=203.0.113.0/24 --deny --for 1day")]
    Add(AddOverride),
    /// List the overrides that have not expired.
    List(AdminServer),
    /// Remove an override before it expires.
    Remove(RemoveOverride),
}

// A doc comment here would become the help text of the command.
#[derive(clap::Args, Debug)]
#[command(group(clap::ArgGroup::new("effect").required(true).args(["limit", "allow", "deny"])))]
pub(super) struct AddOverride {
    /// Name of the rule.
    #[arg(long)]
    rule: String,
    /// Condition on the requests, as in a policy file. Several values of one attribute are
    /// alternatives [default: all requests].
    #[arg(long, value_name = "NAME=VALUE")]
    when: Vec<Attribute>,
    /// Limit that replaces the rule's limits, for example 50/s or 1000/h.
    #[arg(long, value_name = "LIMIT")]
    limit: Vec<String>,
    /// Exempt the requests from the rule.
    #[arg(long)]
    allow: bool,
    /// Deny the requests.
    #[arg(long)]
    deny: bool,
    /// Lifetime, for example 30min, 2h or 1day; at most 90 days.
    #[arg(long = "for", value_name = "TIME")]
    expires_in: String,
    /// Reason, for other operators.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    pub(super) server: AdminServer,
}

#[derive(clap::Args, Debug)]
pub(super) struct RemoveOverride {
    /// Id of the override, from `override list`.
    #[arg(value_parser = id)]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) server: AdminServer,
}

/// Parses an id, which becomes part of a URL path.
fn id(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(plain) {
        return Err("invalid id: `slidegate admin override list` prints the ids".to_owned());
    }
    Ok(text.to_owned())
}

impl AddOverride {
    pub(super) fn body(&self) -> Value {
        let mut when: Map<String, Value> = Map::new();
        for Attribute { name, value } in &self.when {
            match when.get_mut(name) {
                None => drop(when.insert(name.clone(), json!(value))),
                Some(Value::Array(values)) => values.push(json!(value)),
                Some(one) => *one = json!([one.clone(), value]),
            }
        }
        let mut body = json!({ "rule": self.rule, "when": when, "expires_in": self.expires_in });
        if self.allow {
            body["allow"] = json!(true);
        } else if self.deny {
            body["deny"] = json!(true);
        } else {
            body["limits"] = json!(self.limit);
        }
        if let Some(reason) = &self.reason {
            body["reason"] = json!(reason);
        }
        body
    }
}
