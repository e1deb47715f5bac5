//! Errors of a reload.

use std::path::PathBuf;

use slidegate::policy::PolicyErrors;

use crate::config::error::ConfigError;

/// Error of a reload. The previous policy stays in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// The policy was not read from a file.
    #[error("cannot reload: the policy was not read from a file")]
    NoFile,
    /// The file is missing or unreadable.
    #[error("{file} cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// Error of the system.
        why: String,
    },
    /// The file is invalid.
    #[error("{}", lines(file, errors).join("\n"))]
    Policy {
        /// The file.
        file: String,
        /// Its errors.
        errors: PolicyErrors,
    },
    /// The server would not start with these settings.
    #[error("{file}: {error}")]
    Settings {
        /// The file.
        file: String,
        /// The error.
        error: ConfigError,
    },
    /// Certificates that the file names cannot be used. Their files may arrive later.
    #[error("{file}: {error}")]
    Certificates {
        /// The file.
        file: String,
        /// The error.
        error: ConfigError,
        /// Files of the certificates.
        names: Vec<PathBuf>,
    },
}

impl ReloadError {
    /// Files whose change may resolve the error.
    pub(super) fn awaits(&self) -> &[PathBuf] {
        match self {
            Self::Certificates { names, .. } => names,
            _ => &[],
        }
    }

    /// One line per error: location, message and help, without source text, which may contain
    /// secrets.
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
