//! The `slidegate` program: the server, and tools for its policies and its operators.
//!
//! # Layout
//!
//! One module per command, in the order of `slidegate --help`:
//!
//! | module | command |
//! |---|---|
//! | [`serve`] | the server: flags, listeners, banner, log, signals, the demo's workload |
//! | [`check`] | one request to a running server |
//! | [`admin`] | administration of a running server |
//! | [`validate`] | check and explanation of a policy file |
//! | [`explain`] | what a policy does with one request, and why |
//! | [`policy_test`] | `test`: tests of policies |
//! | [`replay`] | what a policy would have done with an access log |
//! | [`suggest`] | limits for the traffic of an access log |
//! | [`simulate`] | what limits do under traffic that shows their differences |
//! | [`import`] | conversion of other systems' configurations |
//! | [`example`], [`schema`], [`completions`], [`health`], [`man`] | short ones |
//!
//! They share [`args`] (the command line), [`access_log_args`], [`flag_value`], [`client`] (HTTP),
//! [`policy`] (policy files and their diagnostics), [`policy_writer`], [`exit`] (exit codes),
//! [`stdout`] and [`stderr`].

use std::process::ExitCode;

mod access_log_args;
mod admin;
mod args;
mod check;
mod client;
mod completions;
mod example;
mod exit;
mod explain;
mod flag_value;
mod health;
mod import;
mod man;
mod policy;
mod policy_test;
mod policy_writer;
mod replay;
mod schema;
mod serve;
mod simulate;
mod stderr;
mod stdout;
mod suggest;
mod validate;

use args::CliCommand;

fn main() -> ExitCode {
    let result = match args::parse().command {
        CliCommand::Serve(args) => serve::run(*args),
        CliCommand::Check(args) => check::run(&args),
        CliCommand::Admin(args) => admin::run(&args),
        CliCommand::Validate(args) => validate::run(&args),
        CliCommand::Explain(args) => explain::run(&args),
        CliCommand::Test(args) => policy_test::run(&args),
        CliCommand::Replay(args) => replay::run(&args),
        CliCommand::Suggest(args) => suggest::run(&args),
        CliCommand::Simulate(args) => simulate::run(&args),
        CliCommand::Import(args) => import::run(&args),
        CliCommand::Example(args) => example::run(&args),
        CliCommand::Schema => schema::run(),
        CliCommand::Completions(args) => completions::run(&args),
        CliCommand::Health(args) => health::run(&args),
        CliCommand::Man(args) => man::run(&args),
    };
    result.unwrap_or_else(|error| {
        match error.downcast_ref::<policy::PolicyDiagnostics>() {
            Some(diagnostics) => anstream::eprint!("{}", diagnostics.render()),
            None => anstream::eprintln!("{error:?}"),
        }
        ExitCode::from(exit::FAILED)
    })
}
