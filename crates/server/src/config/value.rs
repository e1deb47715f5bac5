//! Values of settings that the file may lack.

use slidegate::policy::file::{MIN_SECRET_CHARS, Spanned};

use super::error::ConfigError;

/// Value of a setting.
pub(crate) fn value<'a, T>(spot: &'a Spanned<T>, name: &'static str) -> Result<&'a T, ConfigError> {
    spot.value.as_ref().ok_or(ConfigError::Missing(name))
}

/// Token that requests have to bring. An empty one would protect nothing.
pub(crate) fn token<'a>(
    token: Option<&'a Spanned<String>>,
    name: &'static str,
) -> Result<Option<&'a str>, ConfigError> {
    let Some(token) = token else { return Ok(None) };
    let token = value(token, name)?;
    match token.chars().count() {
        0..MIN_SECRET_CHARS => Err(ConfigError::ShortToken(name)),
        _ => Ok(Some(token)),
    }
}
