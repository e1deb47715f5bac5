//! The `slidegate` program.

use std::process::ExitCode;

use clap::Parser;

mod admin;
mod args;
mod check;
mod client;
mod completions;
mod example;
mod exit;
mod health;
mod import;
mod man;
mod policy;
mod schema;
mod serve;
mod stdout;
mod validate;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Serve(args) => serve::run(*args),
        Command::Check(args) => check::run(&args),
        Command::Admin(args) => admin::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Example => example::run(),
        Command::Schema => schema::run(),
        Command::Completions(args) => completions::run(&args),
        Command::Health(args) => health::run(&args),
        Command::Man(args) => man::run(&args),
    };
    done.unwrap_or_else(|error| {
        anstream::eprintln!("{error:?}");
        ExitCode::from(exit::FAILED)
    })
}
