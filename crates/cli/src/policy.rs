//! Policy files: loading them from disk or standard input, and their diagnostics.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::Path;

use miette::{Report, miette};
use slidegate_server::Config;

use crate::{example, serve};

mod diagnostics;

pub(crate) use diagnostics::PolicyDiagnostics;

/// A valid policy, with its origin and text.
pub(crate) struct LoadedPolicy {
    pub(crate) config: Config,
    pub(crate) origin: PolicyOrigin,
    pub(crate) text: String,
}

/// Origin of a policy.
pub(crate) enum PolicyOrigin {
    Example,
    Demo,
    File {
        /// Its path, or "standard input".
        name: String,
    },
}

impl fmt::Display for PolicyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Example => f.write_str("the built-in example"),
            Self::Demo => f.write_str("the demo policy"),
            Self::File { name } => f.write_str(name),
        }
    }
}

/// Loads a file; `-` is standard input. The error has all errors of the file.
pub(crate) fn load(path: &Path) -> Result<LoadedPolicy, Report> {
    let is_stdin = path.as_os_str() == "-";
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let bytes = if is_stdin { stdin() } else { fs::read(path) };
    let bytes = bytes.map_err(|error| {
        miette!(help = "`slidegate example` prints a policy to start with", "cannot read {name}: {error}")
    })?;
    parse(PolicyOrigin::File { name: name.clone() }, utf8(&name, bytes)?)
}

/// Text of a file that has to be UTF-8.
pub(crate) fn utf8(name: &str, bytes: Vec<u8>) -> Result<String, Report> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        miette!(help = "save the file as UTF-8", "{name} is not valid UTF-8: see byte offset {offset}")
    })
}

/// The example policy, for a server without a file.
pub(crate) fn example() -> Result<LoadedPolicy, Report> {
    parse(PolicyOrigin::Example, example::POLICY.to_owned())
}

/// The policy of `slidegate serve --demo`.
pub(crate) fn demo() -> Result<LoadedPolicy, Report> {
    parse(PolicyOrigin::Demo, serve::demo::POLICY.to_owned())
}

fn parse(origin: PolicyOrigin, text: String) -> Result<LoadedPolicy, Report> {
    let name = origin.to_string();
    let config = Config::parse(&name, &text).map_err(|errors| PolicyDiagnostics::new(&name, &errors))?;
    Ok(LoadedPolicy { config, origin, text })
}

fn stdin() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
