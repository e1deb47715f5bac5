//! Policy files: loading them from disk or standard input, and their diagnostics.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::Path;

use miette::{Report, miette};
use slidegate_server::Config;

use crate::{example, serve};

mod diagnostics;

pub(crate) use diagnostics::{PolicyDiagnostics, errors};

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
    let text = read(path, "`slidegate example` prints a policy to start with")?;
    parse(PolicyOrigin::File { name: name(path) }, text)
}

/// Text of a file; `-` is standard input. The help is for a file that cannot be read.
pub(crate) fn read(path: &Path, help: &'static str) -> Result<String, Report> {
    let name = name(path);
    let bytes = if is_stdin(path) { stdin() } else { fs::read(path) };
    let bytes = bytes.map_err(|error| miette!(help = help, "cannot read {name}: {error}"))?;
    utf8(&name, bytes)
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
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
