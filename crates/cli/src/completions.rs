//! `slidegate completions`: completion scripts for shells.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::stdout;

/// Print a shell completion script
///
/// Bash: `slidegate completions bash > /etc/bash_completion.d/slidegate`.
/// Zsh: write it to a directory in $fpath, as `_slidegate`.
/// Fish: `slidegate completions fish > ~/.config/fish/completions/slidegate.fish`.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsArgs {
    /// Name of the shell.
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> miette::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "slidegate", &mut script);
    stdout::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
