//! What can be asked of the program.

use clap::{Parser, Subcommand};

use crate::{admin, check, completions, health, import, man, serve, validate};

/// A rate limiter whose numbers are true.
///
/// It decides, by a policy of rules, whether a request may pass: over HTTP, for programs in any language and for the
/// proxies in front of them.
#[derive(Parser, Debug)]
#[command(name = "slidegate", version, arg_required_else_help = true)]
#[command(after_help = "Begin with `slidegate serve`: it needs no file and says what to try.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Serve(Box<serve::Args>),
    Check(check::Args),
    Admin(admin::Args),
    Validate(validate::Args),
    Import(import::Args),
    /// Print the built-in example policy, as a start for your own.
    ///
    /// `slidegate example > policy.yaml`, change it, `slidegate validate policy.yaml`, `slidegate serve policy.yaml`.
    Example,
    /// Print the JSON Schema of the policy file, for editors.
    ///
    /// `slidegate schema > policy.schema.json`; then an editor that knows the YAML language server completes and checks a file
    /// that begins with `# yaml-language-server: $schema=policy.schema.json`.
    Schema,
    Completions(completions::Args),
    Health(health::Args),
    Man(man::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_definitions_make_sense() {
        Cli::command().debug_assert();
    }

    /// Whoever runs the program in a container sets variables, not flags.
    #[test]
    fn every_flag_of_serve_has_a_variable() {
        let cli = Cli::command();
        let serve = cli.find_subcommand("serve").expect("serve");
        for flag in serve.get_arguments().filter(|flag| !flag.is_global_set() && flag.get_id() != "help") {
            let variable = flag.get_env().unwrap_or_else(|| panic!("{} has none", flag.get_id()));
            assert!(variable.to_str().is_some_and(|name| name.starts_with("SLIDEGATE_")), "{variable:?}");
        }
    }
}
