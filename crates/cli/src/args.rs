//! The command line: program, commands, and the names of renamed commands.

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};

use crate::{
    admin, check, completions, example, explain, health, import, man, policy_test, replay, serve, simulate,
    suggest, validate,
};

/// Commands that have a new name: the old one is an error that says so.
const RENAMED: [(&str, &str); 1] = [("look", "inspect")];

/// A rate limiter with exact limits and true retry times.
///
/// Slidegate checks requests against a policy of rules: over HTTP, gRPC and the Redis protocol, for
/// programs in any language and for the proxies in front of them.
#[derive(Parser, Debug)]
#[command(name = "slidegate", version, arg_required_else_help = true)]
#[command(after_help = "Start with `slidegate serve`: it needs no configuration and prints commands to try.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum CliCommand {
    Serve(Box<serve::ServeArgs>),
    Check(check::CheckArgs),
    Admin(admin::AdminArgs),
    Validate(validate::ValidateArgs),
    Explain(explain::ExplainArgs),
    Test(policy_test::TestArgs),
    Replay(Box<replay::ReplayArgs>),
    Suggest(Box<suggest::SuggestArgs>),
    Simulate(simulate::SimulateArgs),
    Import(import::ImportArgs),
    Example(example::ExampleArgs),
    /// Print the JSON Schema of the policy file, for editors.
    ///
    /// `slidegate schema > policy.schema.json`. An editor with a YAML language server then
    /// completes and checks a file that starts with `# yaml-language-server:
    /// $schema=policy.schema.json`.
    Schema,
    Completions(completions::CompletionsArgs),
    Health(health::HealthArgs),
    Man(man::ManArgs),
}

/// Parses the command line of the process. On an error it prints it and exits.
pub(crate) fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| with_new_name(error).exit())
}

/// Suggests the new name of a renamed command.
fn with_new_name(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(command)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| old == command) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![(*new).to_owned()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    /// In a container, settings are environment variables, not flags.
    #[test]
    fn every_flag_of_serve_has_a_variable() {
        let cli = Cli::command();
        let serve = cli.find_subcommand("serve").expect("serve");
        for flag in serve.get_arguments().filter(|flag| !flag.is_global_set() && flag.get_id() != "help") {
            let variable = flag.get_env().unwrap_or_else(|| panic!("{} has none", flag.get_id()));
            assert!(variable.to_str().is_some_and(|name| name.starts_with("SLIDEGATE_")), "{variable:?}");
        }
    }

    #[test]
    fn an_old_name_is_an_error_with_the_new_one() {
        let error =
            Cli::try_parse_from(["slidegate", "admin", "look", "ip=203.0.113.7"]).expect_err("renamed");
        let text = with_new_name(error).to_string();
        assert!(text.contains("unrecognized subcommand 'look'") && text.contains("'inspect'"), "{text}");
    }
}
