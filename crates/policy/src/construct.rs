//! Policies without text: from a path, or from limits in code.

use std::path::{Path, PathBuf};

use slidegate_core::Limit;

use crate::file::{File, LimitEntry, RuleEntry, Span, Spanned};
use crate::{Policy, PolicyErrors};

/// Error of [`Policy::load`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        error: std::io::Error,
    },
    /// The file is invalid.
    #[error(transparent)]
    Invalid(#[from] PolicyErrors),
}

impl Policy {
    /// Reads and compiles the rules of a file. Its settings of the server are not read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| LoadError::Read { path: path.to_owned(), error })?;
        Ok(Self::parse(&path.to_string_lossy(), &text)?)
    }

    /// Policy with one rule for all requests: its name, the attributes of its key, and its limits.
    ///
    /// ```
    /// use slidegate::{Limit, Policy};
    ///
    /// let policy = Policy::from_limits("api", &["user|ip"], [Limit::per_second(10)])?;
    /// assert_eq!(policy.rules()[0].name(), "api");
    /// # Ok::<(), slidegate::policy::PolicyErrors>(())
    /// ```
    pub fn from_limits(
        name: &str,
        key: &[&str],
        limits: impl IntoIterator<Item = Limit>,
    ) -> Result<Self, PolicyErrors> {
        let entry = |limit| LimitEntry { at: Span::default(), limit: Some(limit), name: None };
        let rule = RuleEntry {
            name: Spanned::of(name.to_owned()),
            key: key.iter().map(|attribute| Spanned::of((*attribute).to_owned())).collect(),
            limits: Spanned::of(limits.into_iter().map(entry).collect()),
            ..RuleEntry::default()
        };
        Self::compile(File { rules: vec![rule], ..File::default() })
    }
}
