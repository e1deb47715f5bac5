//! Tokens and secrets that clients or nodes share with the server.

use std::fmt;
use std::ops::Deref;

use slidegate::policy::format::{InvalidValue, Schemas, Secret, ValueCheck, json, schema::Value};

/// Minimum length: shorter ones can be guessed.
const MIN_CHARS: usize = 16;

/// Help for a token that is too short.
const HELP: &str = "use at least 16 characters, for example from `openssl rand -base64 32`";

/// Token that cannot be guessed: it has at least 16 characters. Debug output omits it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Box<str>);

/// Error: a token has fewer than 16 characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the token is too short: use at least {MIN_CHARS} characters")]
pub struct ShortToken;

impl Token {
    /// Token of a text.
    pub fn new(text: &str) -> Result<Self, ShortToken> {
        if text.chars().count() < MIN_CHARS { Err(ShortToken) } else { Ok(Self(text.into())) }
    }
}

impl Deref for Token {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl ValueCheck for Token {
    type Base = Secret;
    type Value = Self;

    fn check(text: Secret) -> Result<Self, InvalidValue> {
        Self::new(&text).map_err(|_| InvalidValue::new("the token is too short: it could be guessed", HELP))
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": "string", "minLength": MIN_CHARS })
    }
}

/// Secret that signs permits.
pub(super) struct PermitSecret;

impl ValueCheck for PermitSecret {
    type Base = Secret;
    type Value = Token;

    fn check(text: Secret) -> Result<Token, InvalidValue> {
        let what = "the permit secret is too short: permits could be forged";
        Token::new(&text).map_err(|_| InvalidValue::new(what, HELP))
    }

    fn schema(schemas: &mut Schemas) -> Value {
        <Token as ValueCheck>::schema(schemas)
    }
}
