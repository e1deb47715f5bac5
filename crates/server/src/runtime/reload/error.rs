//! Errors of a reload.

use std::path::PathBuf;

use slidegate::policy::PolicyErrors;

use crate::config::error::ConfigError;

/// Error of a reload. The previous policy stays in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// There is nothing to read again.
    #[error("cannot reload: the policy was not read from a file")]
    NoFile,
    /// The file is not there, or not to be read.
    #[error("{file} cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// Error of the system.
        why: String,
    },
    /// The file is not right.
    #[error("{}", lines(file, errors).join("\n"))]
    Policy {
        /// The file.
        file: String,
        /// All that is wrong with it.
        errors: PolicyErrors,
    },
    /// The service would not start with these settings.
    #[error("{file}: {error}")]
    Settings {
        /// The file.
        file: String,
        /// The error.
        error: ConfigError,
    },
    /// It names certificates that cannot be used. They may come yet.
    #[error("{file}: {error}")]
    Certificates {
        /// The file.
        file: String,
        /// The error.
        error: ConfigError,
        /// The files that it names for them.
        names: Vec<PathBuf>,
    },
}

impl ReloadError {
    /// The files by which it may right itself.
    pub(super) fn awaits(&self) -> &[PathBuf] {
        match self {
            Self::Certificates { names, .. } => names,
            _ => &[],
        }
    }

    /// One line for everything that is wrong: where, what, and what would be right. No line of the file is shown, which may
    /// hold secrets.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Policy { file, errors } => lines(file, errors),
            other => vec![other.to_string()],
        }
    }
}

fn lines(file: &str, errors: &PolicyErrors) -> Vec<String> {
    let mut lines: Vec<String> = errors
        .iter()
        .map(|error| match &*error.help {
            "" => format!("{file}:{}:{}: {}", error.line, error.column, error.message),
            help => format!("{file}:{}:{}: {}; {help}", error.line, error.column, error.message),
        })
        .collect();
    if errors.count() > lines.len() {
        lines.push(format!("{file}: and {} more", errors.count() - lines.len()));
    }
    lines
}
