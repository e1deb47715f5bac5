//! HTML report of a replay.

use std::array;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;

use miette::miette;
use slidegate_tune::html::{self, HtmlOptions, SubjectMask, SubjectStyle};
use slidegate_tune::replay::ReplayReport;

use super::{ReplayArgs, SubjectArg};

/// Writes the report to a file.
pub(super) fn write(path: &Path, report: &ReplayReport, args: &ReplayArgs) -> miette::Result<()> {
    let style = match args.subjects {
        SubjectArg::Masked => SubjectStyle::Masked,
        SubjectArg::Plain => SubjectStyle::Plain,
    };
    let options = HtmlOptions {
        command: command(),
        timezone: args.log.timezone.clone(),
        subjects: SubjectMask::new(style, secret()),
    };
    std::fs::write(path, html::report(report, &options)).map_err(|error| {
        miette!(help = "choose another file for --html", "cannot write {}: {error}", path.display())
    })
}

/// Random bytes: the system chooses the keys of the hashes.
fn secret() -> [u8; 16] {
    let state = RandomState::new();
    array::from_fn(|index| state.hash_one(index).to_le_bytes()[0])
}

/// The command line of this process, as a shell reads it.
fn command() -> String {
    let words = std::env::args().skip(1).map(|word| quoted(&word));
    std::iter::once("slidegate".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Word of a command line, in quotes where a shell needs them.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
