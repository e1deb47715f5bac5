//! Values of flags in the formats of the policy file.

use slidegate::policy::format::{self, Format};

/// Value of a flag. It has the format of the same setting in a file.
pub(crate) fn parse<F: Format>(text: &str) -> Result<F::Value, String> {
    format::parse::<F>(text)
        .map_err(|errors| errors.iter().map(|error| format!("{}; {}", error.message, error.help)).collect())
}
