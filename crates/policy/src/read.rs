//! The text of a policy file, read into types. All that is wrong is reported, not just the first of it.

mod condition;
mod fields;
mod limit;
mod listening;
mod observe;
mod rule;
mod scalars;
mod secret;
mod settings;
mod temporary_override;
mod units;

use super::diagnostics::{Diagnostics, PolicyErrors};
use std::rc::Rc;

use super::file::{File, Span};
use super::temporary_override::TemporaryOverride;
use super::yaml::{self, Node};

/// The longest file.
const MAX_BYTES: usize = 1 << 20;

/// What can be read from a value of a file.
trait Read: Sized {
    /// Whether errors must not repeat it.
    const IS_SECRET: bool = false;

    /// `None`: it is something else, and that was reported.
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self>;
}

/// Tree of the one document in a text. `None`: there is none, and that was reported.
fn document(text: &str, diagnostics: &Diagnostics) -> Option<Rc<Node>> {
    let root = yaml::documents(text, &yaml::Options::POLICY, diagnostics)?.into_iter().next();
    if root.is_none() {
        diagnostics.report(Span::default(), "the file is empty", "start with `version: 1`, then add `rules`");
    }
    root
}

/// Reads a file and reports all that is wrong with it. `None`: there is nothing to go on with.
pub(crate) fn file(text: &str, diagnostics: &Diagnostics) -> Option<File> {
    if text.len() > MAX_BYTES {
        let what = format!("the file has {} bytes", text.len());
        diagnostics.report(Span::default(), what, "a policy has at most 1 MiB");
        return None;
    }
    let tree = document(text, diagnostics)?;
    File::read(&tree, diagnostics)
}

/// An exception and its text. `None`: it is none, and that was reported.
pub(crate) fn exception(text: &str, diagnostics: &Diagnostics) -> Option<TemporaryOverride> {
    if text.len() > MAX_BYTES {
        diagnostics.report(Span::default(), format!("the override has {} bytes", text.len()), "say less");
        return None;
    }
    let tree = document(text, diagnostics)?;
    Some(TemporaryOverride { text: text.into(), ..TemporaryOverride::read(&tree, diagnostics)? })
}

impl File {
    /// Reads a file without making a policy of it: its form is checked, not yet what its rules mean.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyErrors> {
        let diagnostics = Diagnostics::new(file_name, text);
        let file = file(text, &diagnostics);
        diagnostics.into_result()?;
        // Nothing was reported, so that there is a file.
        Ok(file.unwrap_or_default())
    }
}

/// The bytes of a file as text; an error if they are none, since YAML is UTF-8.
pub fn decode<'b>(file_name: &str, bytes: &'b [u8]) -> Result<&'b str, PolicyErrors> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            // What comes before can be shown, and what comes after could be anything.
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to().min(MAX_BYTES)]);
            let at = Span { start: good.len(), len: 0 };
            let diagnostics = Diagnostics::new(file_name, &good);
            diagnostics.report(at, "the file is not UTF-8 from here on", "save it as UTF-8");
            diagnostics.into_result().map(|()| "")
        }
    }
}
