//! YAML parser: text in, tree of nodes with their positions out.
//!
//! [`documents`] reads a text within the bounds of its [`Options`] and reports every error to
//! [`Diagnostics`], so that a caller can show all of them at once. A policy
//! file is read with [`Options::POLICY`]; importers of other formats choose their own.
//!
//! ```
//! use slidegate_policy::{Diagnostics, yaml};
//!
//! let text = "limits: &usual [5/min]\nothers: *usual\n";
//! let diagnostics = Diagnostics::new("example.yaml", text);
//! let documents = yaml::documents(text, &yaml::Options::POLICY, &diagnostics);
//! diagnostics.into_result()?;
//! let root = &documents.expect("no error was reported")[0];
//! let yaml::Kind::Mapping(entries) = &root.kind else { panic!("a mapping") };
//! assert_eq!(entries[1].key, "others");
//! assert_eq!(entries[1].value.describe(), "a list");
//! # Ok::<(), slidegate_policy::PolicyErrors>(())
//! ```

use std::rc::Rc;

use crate::diagnostics::Diagnostics;
use crate::file::Span;

mod build;
mod syntax;
mod tree;

pub use build::documents;
pub use tree::{Entry, Kind, Node, ScalarType, scalar_type};

/// Dialect and bounds by which a text is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Maximum nesting depth.
    pub max_depth: usize,
    /// Maximum number of values. A value behind an alias counts each time it is used.
    pub max_values: usize,
    /// Whether `<<` merges the fields of other mappings. If not, it is an error.
    pub merge_keys: bool,
    /// Whether tags such as `!!str` are ignored. If not, they are errors.
    pub tags: bool,
    /// Whether a text may have several documents.
    pub multiple_documents: bool,
}

impl Options {
    /// Options of a policy file: one document, no tags, no merge keys.
    pub const POLICY: Self = Self {
        max_depth: 32,
        max_values: 100_000,
        merge_keys: false,
        tags: false,
        multiple_documents: false,
    };
}

/// Tree of the one document in a text. `None`: there is none, and that was reported.
pub(crate) fn document(text: &str, diagnostics: &Diagnostics) -> Option<Rc<Node>> {
    let root = documents(text, &Options::POLICY, diagnostics)?.into_iter().next();
    if root.is_none() {
        diagnostics.report(Span::default(), "the file is empty", "start with `version: 1`, then add `rules`");
    }
    root
}
