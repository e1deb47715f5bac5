//! Reader of policy files: text into types. It reports all errors, not just the first.

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

/// Maximum size of a file.
const MAX_BYTES: usize = 1 << 20;

/// Type that can be read from a node.
trait Read: Sized {
    /// Whether errors must not repeat the value.
    const IS_SECRET: bool = false;

    /// Value of a node. `None`: the node is invalid, and that was reported.
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

/// Reads a file and reports all errors. `None`: there is nothing to continue with.
pub(crate) fn file(text: &str, diagnostics: &Diagnostics) -> Option<File> {
    if text.len() > MAX_BYTES {
        let message = format!("the file is too large: {} bytes", text.len());
        diagnostics.report(Span::default(), message, "the maximum is 1 MiB");
        return None;
    }
    let tree = document(text, diagnostics)?;
    File::read(&tree, diagnostics)
}

/// Reads a temporary override. `None`: it is invalid, and that was reported.
pub(crate) fn temporary_override(text: &str, diagnostics: &Diagnostics) -> Option<TemporaryOverride> {
    if text.len() > MAX_BYTES {
        diagnostics.report(
            Span::default(),
            format!("the override is too large: {} bytes", text.len()),
            "the maximum is 1 MiB",
        );
        return None;
    }
    let tree = document(text, diagnostics)?;
    Some(TemporaryOverride { text: text.into(), ..TemporaryOverride::read(&tree, diagnostics)? })
}

impl File {
    /// Reads a file without compiling it: its form is checked, but not the meaning of its rules.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyErrors> {
        let diagnostics = Diagnostics::new(file_name, text);
        let file = file(text, &diagnostics);
        diagnostics.into_result()?;
        // Nothing was reported, so that there is a file.
        Ok(file.unwrap_or_default())
    }
}

/// Text of the bytes of a file. An error if they are not UTF-8.
pub fn decode<'b>(file_name: &str, bytes: &'b [u8]) -> Result<&'b str, PolicyErrors> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            // The excerpt ends here: what follows could be anything.
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to().min(MAX_BYTES)]);
            let at = Span { start: good.len(), len: 0 };
            let diagnostics = Diagnostics::new(file_name, &good);
            diagnostics.report(at, "invalid UTF-8", "save the file as UTF-8");
            diagnostics.into_result().map(|()| "")
        }
    }
}
