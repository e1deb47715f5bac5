//! `slidegate explain`: what a policy does with one request, rule by rule, and why.

use std::path::PathBuf;
use std::process::ExitCode;

use slidegate::Request;

use crate::check::Attribute;
use crate::policy::{self, LoadedPolicy};
use crate::{exit, stderr, stdout};

mod render;

/// Explain what a policy does with a request: which rules apply, and why the others do not.
///
/// For every rule that applies: its key, its mode and its limits, by override or tier. For every
/// other rule: the conditions that fail, with the values of the request. No server is needed, and
/// nothing is charged.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate explain --policy policy.yaml method=POST path=/login ip=203.0.113.7
  slidegate explain path=/v1/search/books ip=203.0.113.7     # the built-in example policy

Exit codes:
  0  the request is explained
  1  the policy file is invalid, or cannot be read
  2  invalid arguments, or no rule can judge such a request (an invalid address, for example)")]
pub(crate) struct ExplainArgs {
    /// Attributes of the request.
    #[arg(value_name = "NAME=VALUE")]
    attributes: Vec<Attribute>,
    /// Policy file; `-` reads standard input. Default: the built-in example.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ExplainArgs) -> miette::Result<ExitCode> {
    let LoadedPolicy { config, .. } = match &args.policy {
        Some(file) => policy::load(file)?,
        None => policy::example()?,
    };
    let mut request = Request::new();
    for Attribute { name, value } in &args.attributes {
        request.set(name, value);
    }
    let explained = request.check().and_then(|()| config.policy.explain_request(&request));
    let explanation = match explained {
        Ok(explanation) => explanation,
        Err(error) => {
            stderr::error(error);
            return Ok(ExitCode::from(exit::USAGE));
        }
    };
    let text = match args.json {
        true => format!("{}\n", serde_json::json!(explanation)),
        false => render::request(&explanation),
    };
    stdout::print(&text)?;
    Ok(match explanation.error {
        Some(_) => ExitCode::from(exit::USAGE),
        None => ExitCode::SUCCESS,
    })
}
