//! `slidegate man`: manual pages, generated from the same definitions as `--help`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use miette::{IntoDiagnostic, WrapErr};

use crate::args::Cli;
use crate::stdout;

/// Print the manual page, or write the pages of all commands.
///
/// Read it with `slidegate man | man -l -`. Install all pages with `slidegate man --directory
/// /usr/local/share/man/man1`.
#[derive(clap::Args, Debug)]
pub(crate) struct ManArgs {
    /// Write slidegate.1 and a page for every command to this directory; it is created if it does
    /// not exist.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs) -> miette::Result<ExitCode> {
    let pages = pages();
    match &args.directory {
        Some(directory) => write(directory, &pages)?,
        None => stdout::print(&pages[0].text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A manual page.
struct ManPage {
    file: String,
    text: String,
}

/// The page of the program, then one for every command and its subcommands.
fn pages() -> Vec<ManPage> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    let mut left = vec![program];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().filter(|inner| !inner.is_hide_set()).cloned());
        pages.push(page(command));
    }
    pages
}

fn page(command: Command) -> ManPage {
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_commands = command.has_subcommands();
    let man = Man::new(command);
    let mut text = Vec::new();
    // The library omits an empty date, which would put the program's name in its place.
    let title = man.get_filename().trim_end_matches(".1").to_uppercase();
    let version = env!("CARGO_PKG_VERSION");
    let mut title_line = Roff::new();
    title_line.control("TH", [title.as_str(), "1", "\"\"", &format!("slidegate {version}"), "Slidegate"]);
    let result = title_line
        .to_writer(&mut text)
        .and_then(|()| man.render_name_section(&mut text))
        .and_then(|()| man.render_synopsis_section(&mut text))
        .and_then(|()| man.render_description_section(&mut text))
        .and_then(|()| man.render_options_section(&mut text))
        .and_then(|()| if has_commands { man.render_subcommands_section(&mut text) } else { Ok(()) })
        .and_then(|()| sections(&notes).to_writer(&mut text));
    result.expect("writing to a vector does not fail");
    ManPage { file: man.get_filename(), text: String::from_utf8_lossy(&text).into_owned() }
}

/// The end of a help text: examples and exit codes become sections, with their lines unchanged.
fn sections(notes: &str) -> Roff {
    let mut roff = Roff::new();
    for paragraph in notes.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        let Some((title, lines)) = paragraph.split_once(":\n") else {
            roff.control("SH", ["NOTES"]).text([roman(paragraph)]);
            continue;
        };
        roff.control("SH", [title.to_uppercase().as_str()]).control("nf", []);
        for line in lines.lines() {
            roff.text([roman(line.trim_start_matches("  "))]);
        }
        roff.control("fi", []);
    }
    roff
}

fn write(directory: &Path, pages: &[ManPage]) -> miette::Result<()> {
    let cannot = |path: &Path| format!("cannot write {}", path.display());
    fs::create_dir_all(directory).into_diagnostic().wrap_err_with(|| cannot(directory))?;
    for page in pages {
        let path = directory.join(&page.file);
        fs::write(&path, &page.text).into_diagnostic().wrap_err_with(|| cannot(&path))?;
    }
    Ok(())
}
