//! Why a policy was not put in force.

use slidegate::policy::PolicyErrors;

use crate::config::ConfigError;

/// Why a policy was not put in force. The one before it still is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// There is nothing to read again.
    #[error("the policy cannot be read again: it was not read from a file; start with the path of one")]
    NoFile,
    /// The file is not there, or not to be read.
    #[error("{file} cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
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
        /// What is wrong with them.
        error: ConfigError,
    },
}

impl ReloadError {
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
        .map(|error| match &*error.remedy {
            "" => format!("{file}:{}:{}: {}", error.line, error.column, error.what),
            remedy => format!("{file}:{}:{}: {}; {remedy}", error.line, error.column, error.what),
        })
        .collect();
    if errors.count() > lines.len() {
        lines.push(format!("{file}: and {} more", errors.count() - lines.len()));
    }
    lines
}
