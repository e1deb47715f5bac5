//! HTML report of a replay.

use std::array;
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::BuildHasher;
use std::path::Path;

use miette::miette;
use slidegate_tune::html::{self, HtmlOptions, SubjectMask, SubjectStyle};
use slidegate_tune::replay::ReplayReport;

use super::{ReplayArgs, SubjectArg};

/// Options of the report. `words` are the words of the command line after the name of the program.
pub(super) fn options(args: &ReplayArgs, words: impl Iterator<Item = OsString>) -> HtmlOptions {
    let style = match args.subjects {
        SubjectArg::Masked => SubjectStyle::Masked,
        SubjectArg::Plain => SubjectStyle::Plain,
    };
    HtmlOptions {
        command: command(words),
        timezone: args.log.timezone.clone(),
        subjects: SubjectMask::new(style, secret()),
    }
}

/// Writes the report to a file.
pub(super) fn write(path: &Path, report: &ReplayReport, options: &HtmlOptions) -> miette::Result<()> {
    std::fs::write(path, html::report(report, options)).map_err(|error| {
        miette!(help = "choose another file for --html", "cannot write {}: {error}", path.display())
    })
}

/// Random bytes: the system chooses the keys of the hashes.
fn secret() -> [u8; 16] {
    let state = RandomState::new();
    array::from_fn(|index| state.hash_one(index).to_le_bytes()[0])
}

/// Command line as a shell reads it. Bytes of a word that are not UTF-8 are replaced.
fn command(words: impl Iterator<Item = OsString>) -> String {
    let words = words.map(|word| quoted(&word.to_string_lossy()));
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
