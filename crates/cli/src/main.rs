//! The `slidegate` program.

use std::process::ExitCode;

use clap::Parser;

mod args;
mod check;
mod completions;
mod example;
mod exit;
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
        Command::Validate(args) => validate::run(&args),
        Command::Example => example::run(),
        Command::Schema => schema::run(),
        Command::Completions(args) => completions::run(&args),
    };
    done.unwrap_or_else(|error| {
        anstream::eprintln!("{error:?}");
        ExitCode::from(exit::FAILED)
    })
}
