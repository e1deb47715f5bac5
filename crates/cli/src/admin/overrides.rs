//! Exceptions that hold for a while.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::Of;
use crate::check::Attribute;

/// Set limits for a while, see those that are set, end one.
///
/// An override is an exception from a rule. It holds on all servers that share the store, and outlives restarts.
#[derive(Subcommand, Debug)]
#[command(arg_required_else_help = true)]
pub(super) enum Command {
    /// Set an override; prints its id.
    #[command(after_help = "\
Example:
  slidegate admin override add --rule search --when api_key=k1 --limit 50/s --for 2h --reason 'import'
  slidegate admin override add --rule login --when ip=203.0.113.0/24 --deny --for 1day")]
    Add(Add),
    /// List those that have not expired.
    List(Of),
    /// End one before its time.
    Remove(Remove),
}

// A comment for the documentation here would become that of the command.
#[derive(clap::Args, Debug)]
#[command(group(clap::ArgGroup::new("effect").required(true).args(["limit", "allow", "deny"])))]
pub(super) struct Add {
    /// The rule that it is an exception from.
    #[arg(long)]
    rule: String,
    /// For which of its requests: name=value, as in a policy. Of one name with several values any will do; left out: for all.
    #[arg(long, value_name = "ATTRIBUTE=VALUE")]
    when: Vec<Attribute>,
    /// The limits that hold instead: 50/s, 1000/h.
    #[arg(long, value_name = "LIMIT")]
    limit: Vec<String>,
    /// The rule does not limit them.
    #[arg(long)]
    allow: bool,
    /// They are refused.
    #[arg(long)]
    deny: bool,
    /// How long it holds: 30min, 2h, 1day; at most 90 days.
    #[arg(long = "for", value_name = "TIME")]
    expires_in: String,
    /// Why, for those who find it.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    pub(super) of: Of,
}

#[derive(clap::Args, Debug)]
pub(super) struct Remove {
    /// What `override list` calls it.
    #[arg(value_parser = id)]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) of: Of,
}

/// It becomes a part of an address.
fn id(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(plain) {
        return Err(
            "an id is made of letters and digits; `slidegate admin override list` shows them".to_owned()
        );
    }
    Ok(text.to_owned())
}

impl Add {
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
