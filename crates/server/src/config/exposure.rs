//! Exposure of listeners to other machines.
//!
//! The admin listener is open to this machine only, or to clients with a token or a certificate.
//! That is checked wherever it could change: in the file, in the settings (flags may have changed
//! them), when the listener is bound, when settings change, and at every request.

use std::net::SocketAddr;

use super::error::ConfigError;
use super::listener::Listener;
use super::{AdminSettings, ServerSettings, Settings, TlsSettings};

/// Checks the exposure of the admin listener at the address in the settings.
pub(crate) fn check_settings(server: &ServerSettings) -> Result<(), ConfigError> {
    match &server.admin {
        Some(admin) => check_at(admin, admin.listen),
        None => Ok(()),
    }
}

/// Checks the exposure of the admin listener at an address.
pub(crate) fn check_at(admin: &AdminSettings, address: SocketAddr) -> Result<(), ConfigError> {
    let authenticates = admin.token.is_some() || has_client_ca(admin.tls.as_ref());
    if authenticates || is_local(address) { Ok(()) } else { Err(ConfigError::AdminIsOpen { address }) }
}

/// Checks the exposure of a bound admin listener, with a warning about an unencrypted token.
pub(crate) fn check_bound(admin: &AdminSettings, address: SocketAddr) -> Result<(), ConfigError> {
    check_at(admin, address)?;
    if !is_local(address) && admin.tls.is_none() {
        tracing::warn!(
            "the token of the admin listener at {address} is sent unencrypted: set server.admin.tls, or listen at 127.0.0.1"
        );
    }
    Ok(())
}

impl Settings {
    /// Warnings about listeners that other machines can use without a token or a client
    /// certificate.
    pub fn warnings(&self) -> Vec<String> {
        let server = &self.server;
        let listeners = [Listener::Http, Listener::Grpc, Listener::Resp].into_iter();
        let open = listeners.filter_map(|listener| {
            let address = listener.address(server)?;
            let authenticates = server.token.is_some() || has_client_ca(listener.tls(server));
            (!authenticates && !is_local(address)).then(|| {
                format!(
                    "server.{}: {address} is reachable from other machines, where anyone can use up limits and read their usage: \
                     set server.token, or tls with a client_ca, or listen on 127.0.0.1",
                    listener.name()
                )
            })
        });
        open.collect()
    }
}

fn has_client_ca(tls: Option<&TlsSettings>) -> bool {
    tls.is_some_and(|tls| tls.client_ca.is_some())
}

/// Whether only this machine reaches an address. An IPv4 address may be written as one of IPv6.
pub(super) fn is_local(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests;
