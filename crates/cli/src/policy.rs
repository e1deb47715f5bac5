//! Policy files, read from disk or from standard input.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::Path;

use miette::{Report, miette};
use slidegate::policy::{Policy, Settings};

use crate::{example, serve};

mod diagnostics;

pub(crate) use diagnostics::Broken;

/// A policy that was read and is right.
pub(crate) struct Loaded {
    pub(crate) policy: Policy,
    pub(crate) settings: Settings,
    pub(crate) origin: Origin,
    pub(crate) text: String,
}

/// Where a policy comes from.
pub(crate) enum Origin {
    BuiltIn,
    /// That of the demo.
    Demo,
    File {
        /// What to call it.
        name: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("the built-in example"),
            Self::Demo => f.write_str("the demo"),
            Self::File { name } => f.write_str(name),
        }
    }
}

/// Reads a file; `-` is standard input. The error lists all that is wrong.
pub(crate) fn load(path: &Path) -> Result<Loaded, Report> {
    let is_stdin = path.as_os_str() == "-";
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let bytes = if is_stdin { stdin() } else { fs::read(path) };
    let bytes = bytes.map_err(|error| {
        miette!(help = "`slidegate example` prints a policy to begin with", "{name} cannot be read: {error}")
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = error.utf8_error().valid_up_to();
        miette!(help = "save it as UTF-8", "{name} is not UTF-8: see the byte after the first {before}")
    })?;
    parse(Origin::File { name }, text)
}

/// The example that a server has without a file.
pub(crate) fn built_in() -> Result<Loaded, Report> {
    parse(Origin::BuiltIn, example::POLICY.to_owned())
}

/// That of `slidegate serve --demo`.
pub(crate) fn demo() -> Result<Loaded, Report> {
    parse(Origin::Demo, serve::demo::POLICY.to_owned())
}

fn parse(origin: Origin, text: String) -> Result<Loaded, Report> {
    let name = origin.to_string();
    let parsed = Policy::parse(&name, &text).map_err(|errors| Broken::new(&name, &errors))?;
    let (policy, settings) = parsed;
    Ok(Loaded { policy, settings, origin, text })
}

fn stdin() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
