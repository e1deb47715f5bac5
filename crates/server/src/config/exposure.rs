//! Exposure of the admin listener: only this machine, or clients with a token or a certificate.
//!
//! That it is not open by accident is looked at wherever it could become so: in the file, where settings are used (flags may
//! have changed them), when the listener is bound, when settings change, and at every request.

use std::net::SocketAddr;

use slidegate::policy::file::{Admin, Server};

use super::error::ConfigError;
use super::value::{self, value};

/// Checks the exposure at the address in the settings.
pub(crate) fn check_settings(server: &Server) -> Result<(), ConfigError> {
    match &server.admin {
        Some(admin) => check_at(admin, *value(&admin.listen, "server.admin.listen")?),
        None => Ok(()),
    }
}

/// Checks the exposure at an address.
pub(crate) fn check_at(admin: &Admin, address: SocketAddr) -> Result<(), ConfigError> {
    // A token that can be guessed is none, and refused as such.
    token(admin)?;
    if admin.is_guarded_at(address) { Ok(()) } else { Err(ConfigError::AdminIsOpen { address }) }
}

/// Checks the exposure of a bound listener, with a warning about an unencrypted token.
pub(crate) fn check_bound(admin: &Admin, address: SocketAddr) -> Result<(), ConfigError> {
    check_at(admin, address)?;
    if !is_local(address) && admin.tls.is_none() {
        tracing::warn!(
            "the token of the admin listener at {address} is sent unencrypted: set server.admin.tls, or listen at 127.0.0.1"
        );
    }
    Ok(())
}

/// Token of the admin listener.
pub(crate) fn token(admin: &Admin) -> Result<Option<&str>, ConfigError> {
    value::token(admin.token.as_ref(), "server.admin.token")
}

/// Whether nobody else's machine reaches it. An IPv4 address may be written as one of IPv6.
fn is_local(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests;
